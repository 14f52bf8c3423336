// What users write behind --comm, --pid, --cpu and the like: lists with commas.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jitscope {

struct NumberRange {
  uint32_t first = 0;
  uint32_t last = 0;
  bool operator==(const NumberRange&) const = default;
};

// `option` is for the message. A comma that belongs to a name has a backslash in front of it.
Result<std::vector<std::string>> parse_name_list(std::string_view option, std::string_view text);
// "0-3,5".
Result<std::vector<NumberRange>> parse_number_list(std::string_view option, std::string_view text,
                                                   bool ranges);
// In order, and none that touches another: for holds().
void settle_ranges(std::vector<NumberRange>& ranges);
[[nodiscard]] bool holds(const std::vector<NumberRange>& ranges, uint32_t number);

}  // namespace jitscope
