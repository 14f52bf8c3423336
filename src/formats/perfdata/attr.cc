// Event attributes; see attr.h.
#include "formats/perfdata/attr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/byte_cursor.h"
#include "formats/perfdata/format.h"

namespace jitscope::perfdata {
namespace {

constexpr std::array<std::string_view, 10> kHardware = {"cycles",
                                                        "instructions",
                                                        "cache-references",
                                                        "cache-misses",
                                                        "branches",
                                                        "branch-misses",
                                                        "bus-cycles",
                                                        "stalled-cycles-frontend",
                                                        "stalled-cycles-backend",
                                                        "ref-cycles"};
constexpr std::array<std::string_view, 12> kSoftware = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

std::string plain_name(uint32_t type, uint64_t config, uint64_t config1) {
  switch (type) {
    case 0:
      // The upper half selects a PMU on machines with several kinds of cores.
      if ((config & UINT32_MAX) < kHardware.size()) {
        return std::string(kHardware[config & UINT32_MAX]);
      }
      return fmt::format("hardware {:#x}", config);
    case 1:
      if (config < kSoftware.size()) return std::string(kSoftware[config]);
      return fmt::format("software {:#x}", config);
    case 2:
      return fmt::format("tracepoint {}", config);
    case 3:
      return fmt::format("cache {:#x}", config);
    case 4:
      return fmt::format("raw {:#x}", config);
    case 5:
      return fmt::format("mem:{:#x}", config1);
    default:
      return fmt::format("pmu {} {:#x}", type, config);
  }
}

// ":u", ":kpp"; empty when every mode counts and nothing is precise.
std::string modifiers(uint64_t flags) {
  constexpr uint64_t any =
      attr_bit::kExcludeUser | attr_bit::kExcludeKernel | attr_bit::kExcludeHypervisor;
  std::string text;
  if ((flags & any) != 0) {
    if ((flags & attr_bit::kExcludeKernel) == 0) text += 'k';
    if ((flags & attr_bit::kExcludeUser) == 0) text += 'u';
    if ((flags & attr_bit::kExcludeHypervisor) == 0) text += 'h';
  }
  text.append((flags >> attr_bit::kPreciseShift) & 3U, 'p');
  return text.empty() ? text : ":" + text;
}

}  // namespace

uint32_t stored_attr_size(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  cursor.skip(4);
  const uint32_t size = cursor.u32();
  return size == 0 ? static_cast<uint32_t>(kSmallestAttr) : size;
}

Result<EventInfo> parse_attr(std::span<const std::byte> bytes) {
  if (bytes.size() < kSmallestAttr) {
    return fail(ErrorKind::damaged,
                fmt::format("an event attribute has {} bytes, the smallest there is has {}",
                            bytes.size(), kSmallestAttr));
  }
  ByteCursor cursor(bytes);
  EventInfo event;
  event.type = cursor.u32();
  cursor.skip(4);  // its size
  event.config = cursor.u64();
  event.sample_period = cursor.u64();
  event.sample_type = cursor.u64();
  event.read_format = cursor.u64();
  const uint64_t flags = cursor.u64();
  cursor.skip(8);  // wakeup, breakpoint type
  const uint64_t config1 = cursor.u64();
  // What follows was added later; the cursor gives 0 once the bytes end.
  cursor.skip(8);
  event.branch_sample_type = cursor.u64();
  event.user_regs_mask = cursor.u64();
  cursor.skip(4);  // size of the stack copy
  event.clockid = cursor.i32();
  event.intr_regs_mask = cursor.u64();
  event.frequency = (flags & attr_bit::kFrequency) != 0;
  event.sample_id_all = (flags & attr_bit::kSampleIdAll) != 0;
  event.use_clockid = (flags & attr_bit::kUseClockId) != 0;
  event.name = plain_name(event.type, event.config, config1) + modifiers(flags);
  return event;
}

}  // namespace jitscope::perfdata
