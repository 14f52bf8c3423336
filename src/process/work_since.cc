// By the process's CPU-time clock; see work_since.h.
#include "process/work_since.h"

#include <ctime>

namespace jitscope {
namespace {

// As clock_getcpuclockid(3) makes it, which asks the kernel whether the process is there: reading
// the clock tells that too. CPUCLOCK_SCHED of include/linux/posix-timers.h.
clockid_t clock_of(pid_t pid) {
  return static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3U) | 2U);
}

}  // namespace

std::optional<uint64_t> cpu_time_of(pid_t pid) {
  timespec time = {};
  if (pid <= 0 || ::clock_gettime(clock_of(pid), &time) != 0) return std::nullopt;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace jitscope
