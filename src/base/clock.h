// The one clock of the project: CLOCK_MONOTONIC nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace jitscope {

[[nodiscard]] inline uint64_t monotonic_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace jitscope
