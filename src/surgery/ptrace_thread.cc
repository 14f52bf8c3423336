// The tracer thread, and its caller's part.
#include "surgery/ptrace_thread.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/quiet_thread.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

// Collects dead threads of the target that the tracer thread holds. Never the leader: its exit
// status belongs to its parent, which may be this very process. A look first (WNOWAIT): of a traced
// thread, wait reports stops too, asked for or not (kernel/exit.c, wait_task_stopped), and those
// are the tracer's.
void bury_dead_threads(pid_t target) {
  for (const pid_t tid : list_threads(target)) {
    if (tid == target) continue;
    siginfo_t info{};
    const auto id = static_cast<id_t>(tid);
    if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) continue;
    if (info.si_code != CLD_EXITED && info.si_code != CLD_KILLED && info.si_code != CLD_DUMPED) {
      continue;
    }
    (void)::waitid(P_PID, id, &info, WEXITED | WNOHANG | __WALL);
  }
}

}  // namespace

void as_tracer(pid_t target, const std::function<void()>& work) {
  const BlockedSignals blocked;  // the new thread inherits it
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  pid_t tracer = 0;
  std::thread thread([&] {
    {
      const std::scoped_lock lock(mutex);
      tracer = static_cast<pid_t>(::syscall(SYS_gettid));
    }
    work();
    const std::scoped_lock lock(mutex);
    done = true;
    changed.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return done; })) {
      lock.unlock();
      bury_dead_threads(target);
      lock.lock();
    }
  }
  thread.join();
  // join() returns a moment before the kernel detaches what the thread still held.
  const std::string task = fmt::format("/proc/self/task/{}", tracer);
  for (int i = 0; i < 10000 && ::access(task.c_str(), F_OK) == 0; ++i)
    ::usleep(i < 100 ? 10 : 1000);
}

}  // namespace jitscope
