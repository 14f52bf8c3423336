#include "perf_event/perf_event.h"

#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "perf_event/breakpoint_check.h"
#include "perf_event/cpus.h"

namespace jitscope {
namespace {

UniqueFd perf_event_open(perf_event_attr& attributes, pid_t pid, int cpu) {
  attributes.size = sizeof(attributes);
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::string permission_hint() {
  return fmt::format(
      "run as root or with CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN); "
      "kernel.perf_event_paranoid is {}",
      perf_event_paranoid());
}

Error event_error(std::string_view what, int code) {
  Error error = system_error(what, {}, code);
  if (code == EPERM || code == EACCES) {
    error.kind = ErrorKind::not_permitted;
    error.hint = permission_hint();
  }
  return error;
}

// The dynamic PMU's number, or an error when the kernel has none.
Result<uint32_t> uprobe_pmu_type() {
  const std::string path = "/sys/bus/event_source/devices/uprobe/type";
  auto text = read_text_file(path);
  if (!text) {
    return fail(ErrorKind::not_possible, "this kernel has no uprobe PMU", path,
                "it needs CONFIG_UPROBE_EVENTS; use --backend breakpoint");
  }
  while (!text->empty() && text->back() == '\n') text->pop_back();
  const auto value = parse_decimal(*text);
  if (!value) return fail(ErrorKind::damaged, "not a PMU number", path);
  return static_cast<uint32_t>(*value);
}

}  // namespace

std::string perf_event_paranoid() {
  const auto text = read_text_file("/proc/sys/kernel/perf_event_paranoid");
  std::string level = text ? *text : "?";
  while (!level.empty() && level.back() == '\n') level.pop_back();
  return level;
}

Result<UniqueFd> open_uprobe_event(const std::string& file, uint64_t offset, pid_t pid) {
  JITSCOPE_ASSIGN(const uint32_t type, uprobe_pmu_type());
  perf_event_attr attributes = {};
  attributes.type = type;
  attributes.config1 = reinterpret_cast<uint64_t>(file.c_str());
  attributes.config2 = offset;
  // Of a uprobe's event only its filter by process counts: the program runs on every CPU.
  UniqueFd event =
      pid == 0 ? perf_event_open(attributes, -1, 0) : perf_event_open(attributes, pid, -1);
  if (!event) {
    const int code = errno;
    Error error = event_error("cannot set a uprobe", code);
    error.where = fmt::format("{}:{:#x}", file, offset);
    if (code == EINVAL) error.hint = "the file is on a file system that uprobes do not support";
    return fail(std::move(error));
  }
  return event;
}

Result<std::vector<UniqueFd>> open_breakpoint_events(uint64_t address) {
  JITSCOPE_ASSIGN(const auto cpus, list_online_cpus());
  std::vector<UniqueFd> events;
  for (const int cpu : cpus) {
    perf_event_attr attributes = {};
    attributes.type = PERF_TYPE_BREAKPOINT;
    attributes.bp_type = HW_BREAKPOINT_X;
    attributes.bp_addr = address;
    attributes.bp_len = sizeof(long);
    attributes.sample_period = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    UniqueFd event = perf_event_open(attributes, -1, cpu);
    if (!event) {
      const int code = errno;
      if (code == ENODEV) continue;  // the CPU went offline
      Error error = event_error("cannot set a hardware breakpoint", code);
      error.where = fmt::format("{:#x} on CPU {}", address, cpu);
      if (code == ENOSPC) {
        error.kind = ErrorKind::not_possible;
        error.hint =
            "the CPU has 4 breakpoint registers and they are all in use (by this trace, another "
            "one or a debugger); trace fewer bodies or use --backend trampoline";
      }
      return fail(std::move(error));
    }
    events.push_back(std::move(event));
  }
  JITSCOPE_TRY(check_breakpoints_fire());  // last: what is not permitted says so first
  return events;
}

}  // namespace jitscope
