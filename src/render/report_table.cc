#include "render/report_table.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "render/report_keys.h"

namespace jitscope {
namespace {

constexpr std::array<std::string_view, 9> kKeyNames = {
    "method", "dso", "process", "thread", "tier", "source", "comm", "cpu", "srcline"};

// Texts numbered in the order in which they first appear.
class Numbering {
 public:
  uint32_t operator()(std::string text) {
    return numbers_.try_emplace(std::move(text), static_cast<uint32_t>(numbers_.size()))
        .first->second;
  }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

// What tells frames apart in a tree of callers: method, library, and for unnamed ones the reason.
std::string name_key(const Frame& frame, bool split_tiers) {
  std::string text;
  append_part(text, frame.method);
  append_part(text, frame.dso);
  if (frame.method.empty()) append_part(text, to_string(frame.no_name));
  if (split_tiers) append_part(text, version_of(frame));
  return text;
}

class Builder {
 public:
  Builder(const Profile& profile, const ReportOptions& options)
      : profile_(profile), labelled_(tells_threads_apart(options)) {
    describe_report(report_, profile, options);
  }

  Report build() {
    choose_entries();
    number_frames();
    merge();
    sum_up();
    make_rows();
    sort_rows();
    return std::move(report_);
  }

 private:
  void choose_entries() {
    for (const StackWeight& each : profile_.stacks) {
      if (each.event != report_.options.event) continue;
      entries_.push_back(&each);
      report_.sum += {each.samples, each.weight};
    }
    if (!labelled_) return;
    Numbering labels;
    for (const Group& group : profile_.groups) {
      const uint32_t label = labels(label_key(group, report_.options));
      label_of_group_.push_back(label);
      if (label == labels_.size()) labels_.push_back(&group);
    }
  }

  void number_frames() {
    Numbering names;
    Numbering rows;
    std::unordered_map<uint64_t, uint32_t> keys;
    for (const Frame& frame : profile_.frames) {
      const uint32_t name = names(name_key(frame, report_.options.split_tiers));
      if (name == report_.stacks.names.size()) report_.stacks.names.push_back(tree_name(frame));
      const uint32_t row = rows(row_key(frame, report_.options));
      const auto [at, added] =
          keys.try_emplace(uint64_t{name} << 32U | row, static_cast<uint32_t>(keys.size()));
      if (added) {
        report_.stacks.name.push_back(name);
        row_of_key_.push_back(row);
      }
      key_of_frame_.push_back(at->second);
    }
    row_parts_ = rows.size();
  }

  [[nodiscard]] std::string tree_name(const Frame& frame) const {
    std::string text = shown_name(frame);
    if (report_.options.split_tiers && frame.tier != Tier::unknown) {
      text += " [" + std::string(to_string(frame.tier)) + "]";
    }
    if (!frame.dso.empty()) text += " (" + frame.dso + ")";
    return text;
  }

  void merge() {
    std::vector<StackId> leaves;
    LabelledStacks split;
    std::span<const StackNode> nodes = profile_.nodes;
    const auto first_label = static_cast<uint32_t>(key_of_frame_.size());
    const auto first_label_key = static_cast<uint32_t>(row_of_key_.size());
    if (labelled_) {
      std::vector<LabelledLeaf> labelled;
      labelled.reserve(entries_.size());
      for (const StackWeight* each : entries_) {
        labelled.push_back({label_of_group_[each->group], each->stack});
      }
      for (uint32_t label = 0; label < labels_.size(); ++label) {
        key_of_frame_.push_back(first_label_key + label);
        row_of_key_.push_back(kNoNode);
        report_.stacks.name.push_back(kNoNode);
      }
      split = split_by_label(nodes, labelled, static_cast<uint32_t>(labels_.size()), first_label);
      nodes = split.nodes;
      leaves = split.leaves;
    } else {
      leaves.reserve(entries_.size());
      for (const StackWeight* each : entries_) leaves.push_back(each->stack);
    }
    const std::vector<uint8_t> used = used_stacks(nodes, leaves);
    facts_.resize(row_of_key_.size());
    for (size_t i = 1; i < nodes.size(); ++i) {
      const FrameId id = nodes[i].frame;
      if (used[i] == 0 || id >= first_label) continue;
      facts_[key_of_frame_[id]].add(id, profile_.frames[id]);
    }
    first_label_key_ = first_label_key;
    Report::Stacks& stacks = report_.stacks;
    stacks.merged = merge_stacks(nodes, key_of_frame_, used);
    stacks.self.resize(stacks.merged.nodes.size());
    for (size_t i = 0; i < entries_.size(); ++i) {
      stacks.self[stacks.merged.node[leaves[i]]] += {entries_[i]->samples, entries_[i]->weight};
    }
    stacks.merged.node = {};  // no longer needed, and as long as the profile
  }

  void sum_up() {
    Report::Stacks& stacks = report_.stacks;
    stacks.total = stacks.self;
    for (size_t i = stacks.merged.nodes.size(); i-- > 1;) {
      stacks.total[stacks.merged.nodes[i].parent] += stacks.total[i];
    }
  }

  // One pass in depth-first order: which rows are on the path, and how often.
  void make_rows() {
    Report::Stacks& stacks = report_.stacks;
    const std::vector<MergedStacks::Node>& nodes = stacks.merged.nodes;
    stacks.row.assign(nodes.size(), kNoNode);
    stacks.outermost.assign(nodes.size(), 0);
    std::vector<uint32_t> row_of_part(row_parts_, kNoNode);  // under the label at work
    std::vector<uint32_t> on_path;                           // of each row
    std::vector<uint32_t> path{kNoNode};                     // the row at each depth
    const Group* label = nullptr;
    for (size_t i = 1; i < nodes.size(); ++i) {
      const MergedStacks::Node& node = nodes[i];
      for (; path.size() > node.depth; path.pop_back()) {
        if (path.back() != kNoNode) --on_path[path.back()];
      }
      if (node.key >= first_label_key_) {
        label = labels_[node.key - first_label_key_];
        std::ranges::fill(row_of_part, kNoNode);
        path.push_back(kNoNode);
        continue;
      }
      uint32_t& row = row_of_part[row_of_key_[node.key]];
      if (row == kNoNode) {
        row = static_cast<uint32_t>(report_.rows.size());
        report_.rows.emplace_back();
        row_facts_.emplace_back();
        on_path.push_back(0);
        if (label != nullptr) name_label(report_.rows.back(), *label, report_.options);
      }
      stacks.row[i] = row;
      row_facts_[row].add(facts_[node.key]);
      report_.rows[row].self += stacks.self[i];
      if (on_path[row]++ == 0) {
        stacks.outermost[i] = 1;
        report_.rows[row].total += stacks.total[i];
      }
      path.push_back(row);
    }
    for (size_t i = 0; i < report_.rows.size(); ++i) {
      row_facts_[i].describe(report_.rows[i], profile_.frames);
    }
  }

  void sort_rows() {
    const std::vector<uint32_t> order = report_order(report_.rows, report_.options);
    std::vector<ReportRow> rows;
    rows.reserve(order.size());
    std::vector<uint32_t> place(report_.rows.size(), kNoNode);
    for (uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      rows.push_back(std::move(report_.rows[order[i]]));
    }
    report_.rows = std::move(rows);
    for (size_t i = 0; i < report_.stacks.row.size(); ++i) {
      uint32_t& row = report_.stacks.row[i];
      if (row != kNoNode) row = place[row];
      if (row == kNoNode) report_.stacks.outermost[i] = 0;
    }
  }

  const Profile& profile_;
  bool labelled_;
  Report report_;
  std::vector<const StackWeight*> entries_;  // of the event
  std::vector<uint32_t> label_of_group_;
  std::vector<const Group*> labels_;
  std::vector<uint32_t> key_of_frame_;  // behind the frames, the labels
  std::vector<uint32_t> row_of_key_;
  uint32_t row_parts_ = 0;
  uint32_t first_label_key_ = 0;
  std::vector<RowFacts> facts_;  // of each key
  std::vector<RowFacts> row_facts_;
};

}  // namespace

std::string_view to_string(ReportKey key) {
  return kKeyNames[static_cast<size_t>(key)];
}

Result<std::vector<ReportKey>> parse_report_keys(std::string_view text) {
  std::vector<ReportKey> keys;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    if (word == "symbol" || word == "sym") word = "method";
    if (word == "pid") word = "process";
    if (word == "tid") word = "thread";
    const auto* const at = std::ranges::find(kKeyNames, word);
    if (at == kKeyNames.end()) {
      return fail(
          ErrorKind::usage, "no sort key \"" + std::string(word) + "\"", {},
          "keys are method (sym), dso, comm, process (pid), thread (tid), cpu, tier, source, "
          "srcline");
    }
    const auto key = static_cast<ReportKey>(at - kKeyNames.begin());
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    if (comma == text.size()) return keys;
    text.remove_prefix(comma + 1);
  }
}

Report build_report(const Profile& profile, const ReportOptions& options) {
  return Builder(profile, options).build();
}

}  // namespace jitscope
