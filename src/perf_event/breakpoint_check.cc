#include "perf_event/breakpoint_check.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>

#include "base/unique_fd.h"

namespace jitscope {
namespace {

[[gnu::noinline]] void called_for_trial() {
  asm volatile("");
}

// Nothing when it could not be tried.
std::optional<bool> try_breakpoint() {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_X;
  attributes.bp_addr = reinterpret_cast<uintptr_t>(&called_for_trial);
  attributes.bp_len = sizeof(long);
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const UniqueFd event(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event) return std::nullopt;
  // Volatile, so that no copy without the address is called.
  void (*volatile call)() = &called_for_trial;
  for (int i = 0; i < 10; ++i) call();
  uint64_t count = 0;
  if (::read(event.get(), &count, sizeof(count)) != sizeof(count)) return std::nullopt;
  return count != 0;
}

}  // namespace

Status check_breakpoints_fire() {
  static std::optional<bool> fire;
  if (!fire) fire = try_breakpoint();
  if (fire.value_or(true)) return {};
  return fail(Error{ErrorKind::not_possible,
                    "hardware breakpoints do not fire on this machine",
                    {},
                    "a virtual machine whose host does not pass them on; use --backend trampoline",
                    EINVAL});  // as from a kernel that has none
}

}  // namespace jitscope
