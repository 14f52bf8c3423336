// The runtimes that jitscope knows: one row each (common/runtime_row.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/common/runtime_row.h"

namespace jitscope {

[[nodiscard]] std::span<const RuntimeRow* const> all_runtimes();
// The row of Runtime::unknown for what has none.
[[nodiscard]] const RuntimeRow& row_of(Runtime runtime);

// For tests: one row more, as long as this lives. `row` must outlive it. Not thread-safe.
class ExtraRuntime {
 public:
  explicit ExtraRuntime(const RuntimeRow& row);
  ~ExtraRuntime();
  ExtraRuntime(const ExtraRuntime&) = delete;
  ExtraRuntime& operator=(const ExtraRuntime&) = delete;
};

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
