// start_quiet_thread: a thread that gets no signals. They are for the thread that waits for them,
// whose system calls they have to end.
#pragma once

#include <pthread.h>

#include <csignal>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace jitscope {

// Nothing: there are too many threads (a limit of the user's or the machine's).
template <typename Run>
[[nodiscard]] std::optional<std::thread> start_quiet_thread(Run&& run) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<std::thread> started;
  try {
    started.emplace(std::forward<Run>(run));
  } catch (const std::system_error&) {
    started.reset();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace jitscope
