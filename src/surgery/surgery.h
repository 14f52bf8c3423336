// Surgery: one short stop of a process in which bytes are patched, all or nothing; and a file
// mapped into it by a thread that is borrowed for a moment.
//
// How it works and why it is safe (docs/safety.md, in plain words):
// - PTRACE_SEIZE + PTRACE_INTERRUPT of every thread (never ATTACH): if the tracer dies, the kernel
//   detaches and every thread runs on. No PTRACE_O_EXITKILL. A signal that arrives instead of the
//   stop is delivered again at detach. Threads that do not stop in time (uninterruptible sleep)
//   make the surgery fail, with nothing changed.
// - A system call that the stop cut short with EINTR although the program would not have expected
// it
//   is repaired: the thread repeats it.
// - Guards and thread positions are checked inside the stop; a patch whose guards do not hold is
//   refused, the rest is applied. Writes are rolled back if one of them fails.
// - map_file borrows one thread by a self-restoring stub (see stub.h): if the tracer dies at any
//   moment, the thread finishes the stub and goes on as if nothing had been.
// - The work is done by a thread made for it (see tracer.h), at whose end the kernel lets go of all
//   that is still held. The calling thread waits, with all its signals blocked, so that Ctrl-C
//   cannot cut a stop; callbacks run on the tracer's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/process.h"
#include "surgery/thread_stop.h"

namespace jitscope {

using Bytes = std::vector<std::byte>;

// Bytes that must be in the target's memory for a patch to be allowed.
struct Guard {
  uint64_t address = 0;
  Bytes expected;
};

struct Patch {
  uint64_t address = 0;
  Bytes expected;     // what must lie at `address` (its length may exceed the replacement's)
  Bytes replacement;  // written at `address`
  std::vector<Guard> guards;
  // No thread may be at an instruction pointer in (address, address + covered): the bytes of the
  // instructions that the replacement lies over. 0: no such check.
  uint32_t covered = 0;
  // More than one instruction is covered: also refuse when a word of a stopped thread's stack (the
  // first 16 KiB above rsp) points strictly inside, since a signal handler may return there.
  bool scan_stacks = false;
};

enum class PatchOutcome : uint8_t {
  applied,
  refused_bytes,   // `expected` was not there
  refused_guard,   // a guard did not hold
  refused_thread,  // a thread is inside the covered bytes (still, after the retries)
  rolled_back,     // a write failed (this one's or another's; SurgeryReport::failure says which)
};

struct StopReport {
  std::chrono::nanoseconds stopped{0};  // from the first interrupt to the last resume
  unsigned threads = 0;
  unsigned restarted_calls = 0;  // system calls repaired after EINTR
  unsigned stops = 1;            // more than one when threads had to move on first
};

struct SurgeryReport {
  StopReport stop;
  std::vector<PatchOutcome> outcomes;  // one a patch, same order
  std::string failure;                 // why all was rolled back; empty otherwise
};

struct StopOptions {
  std::chrono::milliseconds stop_timeout{1000};  // for all threads to stop
  unsigned retries = 20;                         // when a thread is inside covered bytes
};

// Stops all threads, checks, writes (in the order given), resumes. Refused at once: patches that
// overlap (usage), or whose replacement crosses a page boundary (not_possible), as a tracer killed
// between the two pages would leave half of it.
Result<SurgeryReport> apply_patches(const Process& process, std::span<const Patch> patches,
                                    const StopOptions& options = {});

// One system call to run inside the target. A string argument is a pointer to a copy of that string
// in the stub; `from_result` takes the result of an earlier call of the same sequence.
struct RemoteArgument {
  enum class Kind : uint8_t { number, text, from_result } kind = Kind::number;
  uint64_t number = 0;  // or the index of the earlier call
  std::string text;

  static RemoteArgument of(uint64_t value) { return {Kind::number, value, {}}; }
  static RemoteArgument of_text(std::string value) { return {Kind::text, 0, std::move(value)}; }
  static RemoteArgument of_result(uint64_t call) { return {Kind::from_result, call, {}}; }
};
struct RemoteCall {
  long number = 0;  // SYS_...
  std::vector<RemoteArgument> arguments;
  // Called in the tracer when this call has returned, the thread still being stopped; an error ends
  // the sequence's report with that error: of the calls that follow only SYS_close is still made.
  std::function<Status(int64_t result)> then;
};
struct RemoteReport {
  StopReport stop;
  std::vector<int64_t> results;  // of the system calls: value, or -errno
};

// Runs the calls, in order, on one borrowed thread. A call after one that returned an error
// (-4095..-1) is still made unless the stub can skip: put cleaning calls (close) last. With
// `stop_all` every thread is stopped while the stub runs; `before`, when given, is called inside
// that stop before anything is changed.
Result<RemoteReport> run_remote_calls(const Process& process, std::span<const RemoteCall> calls,
                                      bool stop_all = false,
                                      const std::function<Status()>& before = {},
                                      const StopOptions& options = {});

// Looks at the stopped threads, before anything is changed; an error ends the surgery with it.
using StopCheck = std::function<Status(std::span<const StoppedThread>)>;
// The same in a stop of every thread that nobody else's surgery can reach into: refused also while
// a thread stands in a stub that a dead tracer left, which may yet map something.
Result<RemoteReport> run_in_full_stop(const Process& process, std::span<const RemoteCall> calls,
                                      const StopCheck& check, const StopOptions& options = {});

// Where a file comes to lie: `length` bytes from `offset` on, private, readable and executable, at
// exactly `address`.
struct Placement {
  uint64_t address = 0;
  uint64_t length = 0;
  uint64_t offset = 0;
  // Empty: nothing may lie there yet (MAP_FIXED_NOREPLACE). Else: all threads are stopped, and what
  // lies there is replaced if this allows it.
  StopCheck may_replace;
};

// Maps a file of ours by its path in the target's own mount namespace. `own` is a descriptor of the
// same file (readable): the path and what the target opens can be changed by others, so what was
// mapped is compared with it (mapped_identity.h). After that error another file lies there, in
// which nobody runs.
Result<StopReport> map_file(const Process& process, const std::string& path_in_target, int own,
                            const Placement& placement, const StopOptions& options = {});
// The same for a memfd that is created inside the target (for when no directory will do). `fill`
// gets it while the thread waits in the stub, read-write, proven to be the memfd that was made then
// (memfd_handover.h); nobody without rights over the target can write to it. A descriptor stays
// open in the target until the mapping is made, then is closed.
Result<StopReport> map_memfd(const Process& process, const std::string& name,
                             const Placement& placement,
                             const std::function<Status(UniqueFd)>& fill,
                             const StopOptions& options = {});

// Writes to the target's memory through /proc/PID/mem (also to pages that are not writable: they
// become private copies). No stop. A target that is gone gives target_gone (the kernel returns 0).
Status write_memory(const Process& process, uint64_t address, std::span<const std::byte> bytes);

}  // namespace jitscope
