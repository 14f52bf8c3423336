// Who calls a row of a report, and what it calls: trees merged by method and library, drawn with
// indents and shares of the row's total.
//
// A sample counts once for a row: at the row's outermost frame. Chains in which each has one caller
// only are written without more indent, as perf report does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "render/report_table.h"

namespace jitscope {

enum class TreeDirection : uint8_t { callers, callees };

struct TreeOptions {
  TreeDirection direction = TreeDirection::callers;
  double min_percent = 0.5;  // of the row's total; what is thinner is left out
  size_t max_depth = 127;
  size_t max_lines = 10'000;
};

struct TreeLine {
  uint32_t depth = 0;  // 1: a direct caller or callee
  uint32_t indent = 0;
  uint32_t name = 0;  // in Report::stacks.names
  ReportCount count;
};

class ReportTrees {
 public:
  explicit ReportTrees(const Report& report);

  [[nodiscard]] std::vector<TreeLine> lines(size_t row, const TreeOptions& options = {}) const;
  [[nodiscard]] std::string text(size_t row, const TreeOptions& options = {},
                                 const ReportTextOptions& look = {}) const;

 private:
  const Report& report_;
  std::vector<uint32_t> ends_;   // of each node's subtree
  std::vector<uint32_t> first_;  // of each row, where its nodes begin in nodes_
  std::vector<uint32_t> nodes_;  // outermost nodes of all rows, row by row
};

// The table with a tree below each of its rows.
[[nodiscard]] std::string report_with_trees(const Report& report,
                                            const ReportTextOptions& text_options,
                                            const TreeOptions& tree_options);

}  // namespace jitscope
