// One line of a perf map, as every reader of perf maps here takes it: `START SIZE name`, both
// numbers hexadecimal with or without 0x, the name is the rest of the line and may contain blanks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace jitscope {

inline constexpr size_t kLongestPerfMapLine = 16U << 10U;
// Code caches are limited to 2 GB (calls reach no farther); nothing compiled is larger.
inline constexpr uint64_t kLargestPerfMapBody = 2ULL << 30U;

struct PerfMapFields {
  uint64_t address = 0;
  uint64_t size = 0;      // may be 0, at most kLargestPerfMapBody; the range does not wrap
  std::string_view name;  // never empty; of the line
};

enum class PerfMapFault : uint8_t {
  none,
  blank,  // says nothing and hides nothing
  too_long,
  no_address,
  no_size,
  no_name,
  leaves_address_space,
  too_large,  // it would put its name on everything that no other line holds
};
// As a kind of damage: "perf map line without a size".
[[nodiscard]] std::string_view to_string(PerfMapFault fault);

// `line` is without its '\n'; one '\r' at its end does not count. `out` is set when there is no
// fault.
[[nodiscard]] PerfMapFault parse_perf_map_line(std::string_view line, PerfMapFields& out);

// A line as an example in a message: short, and nothing that a terminal would act on.
[[nodiscard]] std::string shown_perf_map_line(std::string_view line);

}  // namespace jitscope
