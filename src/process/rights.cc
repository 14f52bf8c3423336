// Capabilities, user namespaces and ptrace rules; see rights.h. capabilities(7), ptrace(2).
#include "process/rights.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>

#include "base/mapped_file.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

constexpr uint64_t bit(unsigned capability) {
  return uint64_t{1} << capability;
}

uint64_t effective_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return 0;
  return data[0].effective | uint64_t{data[1].effective} << 32U;
}

// Capabilities in a user namespace of one's own say nothing about the kernel's probes.
bool in_initial_namespace() {
  const auto map = read_text_file("/proc/self/uid_map", 4096);
  if (!map) return true;
  std::istringstream fields(*map);
  uint64_t inside = 0;
  uint64_t outside = 0;
  uint64_t count = 0;
  fields >> inside >> outside >> count;
  return inside == 0 && outside == 0 && count == UINT32_MAX;
}

}  // namespace

std::string why_no_probes(uint64_t capabilities, bool initial_namespace) {
  const bool may = (capabilities & bit(CAP_SYS_ADMIN)) != 0 ||
                   ((capabilities & bit(CAP_BPF)) != 0 && (capabilities & bit(CAP_PERFMON)) != 0);
  if (may && initial_namespace) return {};
  return may ? "needs root (or CAP_BPF and CAP_PERFMON) outside of this user namespace"
             : "needs root, or CAP_BPF and CAP_PERFMON";
}

std::string why_no_probes() {
  return why_no_probes(effective_capabilities(), in_initial_namespace());
}

std::string why_no_surgery(const Process& process) {
  // The kernel asks the same for writing to the memory as for stopping threads.
  if (process.memory_fd() < 0) {
    return permission_error("changing the memory", process.pid(), EACCES).hint;
  }
  if (process.status().seccomp != 0 && (effective_capabilities() & bit(CAP_SYS_ADMIN)) == 0) {
    return "it has a seccomp filter: setting that aside needs CAP_SYS_ADMIN";
  }
  return {};
}

}  // namespace jitscope
