// Process: one live process seen from outside through /proc, a pidfd and process_vm_readv.
//
// Identity is (pid, start time): a pid that was reused, or a process that called exec, is found out
// by check_same(). Nothing here changes or stops the process. Errors: not_found (no such pid),
// not_permitted (whose process it is, and what is missing), target_gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/maps.h"
#include "process/memory_reader.h"

namespace jitscope {

// process_vm_readv of one process. Thread-compatible. Holds no reference to the process: a dead or
// reused pid shows as an error or as other bytes; see Process::check_same.
class ProcessMemory : public MemoryReader {
 public:
  explicit ProcessMemory(pid_t pid) : pid_(pid), tid_(pid) {}
  Status read(uint64_t address, std::span<std::byte> out) override;
  void read_many(std::span<Range> ranges) override;

 private:
  pid_t pid_;
  pid_t tid_;  // the thread that is asked: another one when the leader is a zombie
};

// Fields of /proc/PID/status that matter here.
struct ProcessStatus {
  std::string name;
  char state = '?';      // R, S, D, T, t, Z, X, I
  pid_t tracer_pid = 0;  // 0: nobody traces it
  uid_t uid = 0;         // effective
  gid_t gid = 0;         // effective
  int seccomp = 0;       // 0 none, 1 strict, 2 filter
  pid_t ns_pid = 0;      // its pid in its own pid namespace (the last of NSpid)
  unsigned threads = 0;
};
Result<ProcessStatus> read_status(pid_t pid);

class Process {
 public:
  // Opens a process for reading. A tid that is no thread-group leader is an error that names the
  // process it belongs to.
  static Result<Process> open(pid_t pid);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] pid_t ns_pid() const { return status_.ns_pid; }
  [[nodiscard]] const ProcessStatus& status() const { return status_; }  // as of open()
  // Clock ticks after boot, field 22 of /proc/PID/stat.
  [[nodiscard]] uint64_t start_ticks() const { return start_ticks_; }
  // Command line, arguments joined by spaces ("[comm]" for a process without one).
  [[nodiscard]] std::string command_line() const;
  [[nodiscard]] std::vector<std::string> arguments() const;
  // Value of a variable in the environment at exec, or "" (also when it cannot be read).
  [[nodiscard]] std::string environment(std::string_view name) const;
  // What /proc/PID/exe points to, without " (deleted)".
  [[nodiscard]] std::string executable() const;
  // "/proc/PID/root" + path: a path in the target's mount namespace, seen from here.
  [[nodiscard]] std::string path_in_root(std::string_view path) const;
  // True when the target has another mount namespace or another root directory than this process.
  [[nodiscard]] bool other_mount_namespace() const;

  [[nodiscard]] Result<std::vector<Mapping>> maps() const { return read_maps(pid_); }
  [[nodiscard]] ProcessMemory& memory() const { return *memory_; }

  // A pidfd (pollable: readable when the process has exited); -1 where the kernel has none.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] bool alive() const;
  // /proc/PID/mem, opened read-write at open() and bound to that address space: after an exec reads
  // and writes through it give 0 and never touch the new image. -1 where it was not permitted.
  [[nodiscard]] int memory_fd() const { return mem_.get(); }
  // Error target_gone when the process exited, the pid was reused or the process called exec since
  // open().
  [[nodiscard]] Status check_same() const;
  // The part of it that takes a few microseconds: false when what runs under the pid is not the
  // address space of open(), also while a vfork child keeps that one alive. True where memory_fd()
  // is -1.
  [[nodiscard]] bool same_address_space() const;
  // An error that came of a target that is gone says so instead.
  [[nodiscard]] Error or_gone(Error error) const;

 private:
  Process() = default;
  pid_t pid_ = 0;
  uint64_t start_ticks_ = 0;
  std::string exe_identity_;  // device:inode of the executable, and its auxiliary vector
  uint64_t random_at_ = 0;    // AT_RANDOM: sixteen bytes that every exec chooses anew; 0: not known
  ProcessStatus status_;
  std::unique_ptr<ProcessMemory> memory_;
  UniqueFd pidfd_;
  UniqueFd mem_;
};

// When it was started (fork), CLOCK_MONOTONIC: at most a clock tick early. 0: before this machine
// was last suspended, which that clock does not count.
[[nodiscard]] uint64_t start_monotonic_ns(const Process& process);

// Every pid in /proc, ascending.
[[nodiscard]] std::vector<pid_t> list_processes();

}  // namespace jitscope
