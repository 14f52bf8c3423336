// Threads that get no signals: those are for the thread that waits for them, whose system calls
// they have to end. A new thread inherits which signals are blocked.
#pragma once

#include <pthread.h>

#include <csignal>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace jitscope {

// As long as it lives, for this thread and those that it starts.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

// Nothing: there are too many threads (a limit of the user's or the machine's).
template <typename Run>
[[nodiscard]] std::optional<std::thread> start_quiet_thread(Run&& run) {
  const BlockedSignals blocked;
  std::optional<std::thread> started;
  try {
    started.emplace(std::forward<Run>(run));
  } catch (const std::system_error&) {
    started.reset();
  }
  return started;
}

}  // namespace jitscope
