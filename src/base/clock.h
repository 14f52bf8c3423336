// The one clock of the project: CLOCK_MONOTONIC nanoseconds; and what CPU time was used.
#pragma once

#include <cstdint>
#include <ctime>

namespace jitscope {

inline constexpr uint64_t kMillisecond = 1'000'000;  // in nanoseconds

[[nodiscard]] inline uint64_t clock_ns(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}
[[nodiscard]] inline uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}
// Of this thread; of all threads of this process.
[[nodiscard]] inline uint64_t thread_cpu_ns() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
[[nodiscard]] inline uint64_t process_cpu_ns() {
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace jitscope
