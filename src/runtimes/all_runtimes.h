// The runtimes that jitscope knows: one row each (common/runtime_row.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/common/runtime_row.h"

namespace jitscope {

// Runtime::unknown is the last one.
[[nodiscard]] std::span<const RuntimeRow* const> all_runtimes();
[[nodiscard]] const RuntimeRow& row_of(Runtime runtime);

[[nodiscard]] inline MapName parse_map_name(Runtime runtime, std::string_view raw) {
  return parse_map_name(row_of(runtime), raw);
}

// Several methods in one name, outermost first; empty: it is one.
[[nodiscard]] inline std::vector<std::string_view> unfolded_parts(Runtime runtime,
                                                                  std::string_view raw) {
  const RuntimeRow& row = row_of(runtime);
  return row.unfold == nullptr ? std::vector<std::string_view>() : row.unfold(raw);
}

}  // namespace jitscope
