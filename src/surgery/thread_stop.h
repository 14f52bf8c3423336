// ThreadStop: threads of a process held in a ptrace stop, from its making to resume() or its end.
//
// Only to be used inside as_tracer. PTRACE_SEIZE and PTRACE_INTERRUPT: a thread that got a signal
// instead of the stop keeps it for the resume; a process stopped by SIGSTOP stays stopped
// afterwards; threads that exit meanwhile are skipped; children forked meanwhile are not touched.
// System calls that the stop made fail with EINTR are repaired at once. While a thread is in
// uninterruptible sleep (a disk, a file server, a vfork child) the others run on: they are stopped
// when it has woken up.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "base/result.h"
#include "process/process.h"
#include "surgery/thread_registers.h"

namespace jitscope {

// An error as of ThreadStop::all() when a tracer holds the process at this moment. To be asked
// before what would be in vain, not instead of the stop.
Status check_untraced(const Process& process);

struct StoppedThread {
  pid_t tid = 0;
  int signal = 0;              // arrived instead of the stop; the thread gets it at the resume
  bool group_stopped = false;  // by SIGSTOP and the like
  bool repaired = false;       // in front of a system call that it will repeat
  Registers registers{};       // as the thread will go on
};

// What a wait for one thread found.
struct ThreadEvent {
  enum class Kind : uint8_t {
    nothing,      // it runs
    trap,         // PTRACE_EVENT_STOP of an interrupt
    group_stop,   // PTRACE_EVENT_STOP while SIGSTOP holds the process
    signal,       // signal-delivery-stop; `number` says which
    system_call,  // syscall-entry-stop or syscall-exit-stop
    gone,
  } kind = Kind::nothing;
  int number = 0;
};
// Does not wait. The exit status of a thread-group leader is left for its parent.
ThreadEvent poll_thread(pid_t tid, bool leader);
// Waits until something is there or `deadline` has passed.
ThreadEvent wait_thread(pid_t tid, bool leader, std::chrono::steady_clock::time_point deadline);

class ThreadStop {
 public:
  // Every thread. Errors: not_permitted (who traces it already, with errno EBUSY), not_possible (a
  // thread does not stop in time, a kernel thread), target_gone. Nothing is held after an error.
  static Result<ThreadStop> all(const Process& process, std::chrono::milliseconds timeout);
  // One thread; target_gone when it has exited. The process's first thread, if it is another one,
  // is seized too (it runs on, until the end of the tracer thread): so two tracers of this kind
  // never work on one process at the same time, whatever thread each of them takes.
  static Result<ThreadStop> one(const Process& process, pid_t tid,
                                std::chrono::milliseconds timeout);

  ThreadStop(ThreadStop&& other) noexcept;
  ThreadStop& operator=(ThreadStop&&) = delete;
  ThreadStop(const ThreadStop&) = delete;
  ThreadStop& operator=(const ThreadStop&) = delete;
  ~ThreadStop() { resume(); }

  [[nodiscard]] std::span<StoppedThread> threads() { return threads_; }
  [[nodiscard]] unsigned restarted_calls() const { return restarted_calls_; }
  // Lets all go. Returns how long they were stopped.
  std::chrono::nanoseconds resume();

 private:
  explicit ThreadStop(const Process& process) : process_(&process) {}
  Status hold(std::span<const pid_t> tids, bool rescan, std::chrono::milliseconds timeout);
  Status seize(pid_t tid, bool& held);
  Status keep_others_out(pid_t tid);
  // False: those that are still waited for are in uninterruptible sleep.
  Result<bool> collect(std::chrono::steady_clock::time_point deadline);
  // Lets the others run until all of these have stopped.
  Status await_sleepers(std::chrono::steady_clock::time_point deadline);
  Status nudge(std::chrono::steady_clock::time_point& at);
  void take_stopped();
  void let_go();
  void take(pid_t tid, const ThreadEvent& event);
  void repair(StoppedThread& thread);
  [[nodiscard]] Error late(pid_t tid) const;

  const Process* process_;
  std::vector<pid_t> waiting_;  // seized and interrupted, not yet stopped
  std::vector<StoppedThread> threads_;
  std::chrono::steady_clock::time_point began_{};  // {}: nobody is held
  std::chrono::nanoseconds lasted_{0};
  unsigned restarted_calls_ = 0;
  bool resumed_ = false;
};

}  // namespace jitscope
