// BorrowedThread: sends one stopped thread through a stub and takes it back.
//
// Signals that arrive meanwhile are kept and given to the thread once it is where it was, in the
// very state in which they would have met it (so a call that a signal cuts short is cut short).
#pragma once

#include <csignal>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "process/process.h"
#include "surgery/stack_scan.h"
#include "surgery/surgery.h"
#include "surgery/thread_stop.h"

namespace jitscope {

// In 64-bit code, with no signal in hand, and not in a restartable sequence (rseq(2)), which the
// kernel would forget about while the thread is elsewhere.
[[nodiscard]] bool may_be_borrowed(const Process& process, const StoppedThread& thread);

// Lifts the thread's seccomp filter for as long as it is traced; an error where that is refused.
Status allow_system_calls(const StoppedThread& thread);

class BorrowedThread {
 public:
  BorrowedThread(const Process& process, StoppedThread& thread, const CodeRange& stub)
      : process_(process), thread_(thread), stub_(stub) {}

  // Runs the calls of the stub whose first instruction is at `entry`, then puts the thread back.
  Status run(std::span<const RemoteCall> calls, uint64_t entry, const StopOptions& options,
             std::vector<int64_t>& results);
  // The thread is where it was, and the stub's bytes may go.
  [[nodiscard]] bool out_of_stub() const { return out_; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  Status run_calls(std::span<const RemoteCall> calls, uint64_t entry, const StopOptions& options,
                   std::vector<int64_t>& results);
  Status next_system_call_stop(Deadline deadline);
  Status put_back(Deadline deadline);
  Status give_signals(Deadline deadline);
  Status wait_stopped(Deadline deadline, ThreadEvent& event);
  Status give_up(int number, Deadline deadline);
  bool took_no_step();
  void keep_signal(int number);
  [[nodiscard]] bool raise_again(const siginfo_t& info) const;
  [[nodiscard]] Error gone() const;

  const Process& process_;
  StoppedThread& thread_;
  CodeRange stub_;
  std::vector<siginfo_t> kept_;
  uint64_t entry_ = 0;
  bool out_ = true;
};

}  // namespace jitscope
