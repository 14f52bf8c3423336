#include "render/report_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "render/fit_text.h"
#include "render/json.h"

namespace jitscope {
namespace {

// Samples that are at one node of the merged stacks on their way up or down.
struct Item {
  uint32_t name = 0;  // of the node
  uint32_t node = 0;
  ReportCount count;
};

// Of a name that stands far to the right.
constexpr size_t kLeastName = 16;

// Items with one name, to be taken up next.
struct Work {
  std::vector<Item> items;
  ReportCount count;
  uint32_t name = 0;
  uint32_t depth = 0;
  uint32_t indent = 0;
};

}  // namespace

ReportTrees::ReportTrees(const Report& report)
    : report_(report),
      ends_(report.stacks.merged.subtree_ends()),
      first_(report.rows.size() + 1, 0) {
  const Report::Stacks& stacks = report.stacks;
  for (size_t i = 1; i < stacks.row.size(); ++i) {
    if (stacks.outermost[i] != 0) ++first_[stacks.row[i] + 1];
  }
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  nodes_.resize(first_.back());
  std::vector<uint32_t> at = first_;
  for (size_t i = 1; i < stacks.row.size(); ++i) {
    if (stacks.outermost[i] != 0) nodes_[at[stacks.row[i]]++] = static_cast<uint32_t>(i);
  }
}

std::vector<TreeLine> ReportTrees::lines(size_t row, const TreeOptions& options) const {
  const Report::Stacks& stacks = report_.stacks;
  const std::vector<MergedStacks::Node>& nodes = stacks.merged.nodes;
  const Measure measure = report_.options.measure;
  const auto whole = static_cast<double>(report_.rows[row].total.of(measure));
  std::vector<TreeLine> lines;
  std::vector<Work> work(1);
  for (uint32_t i = first_[row]; i < first_[row + 1]; ++i) {
    work[0].items.push_back({0, nodes_[i], stacks.total[nodes_[i]]});
  }
  std::vector<Item> next;
  while (!work.empty() && lines.size() < options.max_lines) {
    const Work now = std::move(work.back());
    work.pop_back();
    if (now.depth != 0) lines.push_back({now.depth, now.indent, now.name, now.count});
    if (now.depth == options.max_depth) continue;

    next.clear();
    const auto add = [&](uint32_t node, const ReportCount& count) {
      if (node == 0) return;
      const uint32_t name = stacks.name[nodes[node].key];
      if (name != kNoNode) next.push_back({name, node, count});  // the label ends the stack
    };
    for (const Item& item : now.items) {
      if (options.direction == TreeDirection::callers) {
        add(nodes[item.node].parent, item.count);
      } else {
        for (uint32_t child = item.node + 1; child < ends_[item.node]; child = ends_[child]) {
          add(child, stacks.total[child]);
        }
      }
    }
    std::ranges::sort(next, [](const Item& a, const Item& b) {
      return a.name != b.name ? a.name < b.name : a.node < b.node;
    });
    std::vector<Work> below;
    for (const Item& item : next) {
      if (below.empty() || below.back().name != item.name) {
        below.push_back({{}, {}, item.name, now.depth + 1, now.indent});
      }
      Work& group = below.back();
      group.count += item.count;
      if (!group.items.empty() && group.items.back().node == item.node) {
        group.items.back().count += item.count;
      } else {
        group.items.push_back(item);
      }
    }
    std::erase_if(below, [&](const Work& each) {
      return static_cast<double>(each.count.of(measure)) * 100 < whole * options.min_percent;
    });
    std::ranges::sort(below, [&](const Work& a, const Work& b) {
      return a.count.of(measure) != b.count.of(measure) ? a.count.of(measure) < b.count.of(measure)
                                                        : a.name > b.name;
    });
    // Only where the samples part (or some end) does the tree go in.
    const bool straight =
        below.size() == 1 && now.depth != 0 && below[0].count.of(measure) == now.count.of(measure);
    for (Work& each : below) {
      each.indent = now.depth == 0 ? 0 : now.indent + (straight ? 0 : 1);
      work.push_back(std::move(each));  // the heaviest last, so that it is taken up first
    }
  }
  return lines;
}

std::string ReportTrees::text(size_t row, const TreeOptions& options,
                              const ReportTextOptions& look) const {
  const Measure measure = report_.options.measure;
  const auto whole = static_cast<double>(report_.rows[row].total.of(measure));
  std::string out;
  const std::vector<TreeLine> all = lines(row, options);
  for (size_t i = 0; i < all.size(); ++i) {
    const TreeLine& line = all[i];
    const bool straight =
        i != 0 && all[i - 1].depth + 1 == line.depth && all[i - 1].indent == line.indent;
    const size_t indent = 19 + size_t{line.indent} * 2;
    out.append(indent, ' ');
    if (straight) {
      out += "        ";
    } else {
      append_percent(out,
                     whole == 0 ? 0.0 : 100 * static_cast<double>(line.count.of(measure)) / whole,
                     6, look.colour);
      out += ' ';
    }
    const std::string name = printable(report_.stacks.names[line.name]);
    const size_t used = indent + 8;
    out += look.width == 0
               ? name
               : fit_name(name, std::max(look.width - std::min(look.width, used), kLeastName));
    out += '\n';
  }
  return out;
}

std::string report_with_trees(const Report& report, const ReportTextOptions& text_options,
                              const TreeOptions& tree_options) {
  std::string out;
  if (text_options.header) out += report_header_text(report, text_options);
  const ReportTrees trees(report);
  const Measure measure = report.options.measure;
  const auto whole = static_cast<double>(report.whole());
  const std::vector<std::string> rows =
      report_row_texts(report, text_options.max_rows, text_options);
  for (size_t i = 0; i < rows.size(); ++i) {
    const ReportRow& row = report.rows[i];
    const auto value =
        static_cast<double>((report.options.children ? row.total : row.self).of(measure));
    if (value == 0 || value * 100 < whole * text_options.min_percent) break;
    out += rows[i];
    const std::string tree = trees.text(i, tree_options, text_options);
    if (!tree.empty()) {
      out += tree_options.direction == TreeDirection::callers ? "                 called by\n"
                                                              : "                 calls\n";
      out += tree;
    }
    out += '\n';
  }
  return out;
}

}  // namespace jitscope
