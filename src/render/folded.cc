#include "render/folded.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/printable.h"
#include "render/folded_escape.h"
#include "render/stack_merge.h"

namespace jitscope {
namespace {

constexpr size_t kPiece = 1U << 20U;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

uint8_t hex_value(char c) {
  return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10);
}

bool starts_escape(std::string_view text) {
  return text.size() >= 4 && text[0] == '\\' && text[1] == 'x' && is_hex(text[2]) &&
         is_hex(text[3]);
}

std::string_view mark(FrameKind kind) {
  if (is_inlined(kind)) return "_[i]";
  if (kind == FrameKind::kernel) return "_[k]";
  return is_jit(kind) ? "_[j]" : "";
}

// Texts of all frames or groups, numbered in the order of the alphabet (so that the same stacks
// give the same lines in the same order); equal texts have one number.
class Texts {
 public:
  void add(std::string text) {
    const auto [at, added] =
        numbers_.try_emplace(std::move(text), static_cast<uint32_t>(texts_.size()));
    if (added) texts_.push_back(at->first);
    number_of.push_back(at->second);
  }
  void sort() {
    std::sort(texts_.begin(), texts_.end());
    std::vector<uint32_t> place(texts_.size());
    for (uint32_t i = 0; i < texts_.size(); ++i) {
      place[numbers_.find(std::string(texts_[i]))->second] = i;
    }
    for (uint32_t& number : number_of) number = place[number];
  }
  [[nodiscard]] std::string_view operator[](uint32_t number) const { return texts_[number]; }

  std::vector<uint32_t> number_of;  // of each that was added

 private:
  std::unordered_map<std::string, uint32_t> numbers_;  // its keys do not move
  std::vector<std::string_view> texts_;
};

struct Line {
  uint32_t node = 0;
  uint32_t label = 0;
  uint64_t count = 0;
};

// By node, then by label. There are about as many nodes as lines, so a place can be had for each.
void sort_lines(std::vector<Line>& lines, size_t nodes) {
  std::vector<uint32_t> next(nodes + 1, 0);
  for (const Line& line : lines) ++next[line.node + 1];
  for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  std::vector<Line> sorted(lines.size());
  for (const Line& line : lines) sorted[next[line.node]++] = line;
  lines.swap(sorted);
  for (size_t first = 0; first < lines.size();) {
    size_t after = first + 1;
    while (after < lines.size() && lines[after].node == lines[first].node) ++after;
    std::sort(lines.begin() + static_cast<ptrdiff_t>(first),
              lines.begin() + static_cast<ptrdiff_t>(after),
              [](const Line& a, const Line& b) { return a.label < b.label; });
    first = after;
  }
}

std::vector<Line> lines_of(const Profile& profile, const FoldedOptions& options,
                           const MergedStacks& merged, std::span<const uint32_t> label_of_group) {
  std::vector<Line> lines;
  for (const StackWeight& each : profile.stacks) {
    if (each.event != options.event) continue;
    const uint64_t count = options.measure == Measure::samples ? each.samples : each.weight;
    if (count == 0) continue;
    lines.push_back({merged.node[each.stack], label_of_group[each.group], count});
  }
  sort_lines(lines, merged.nodes.size());
  size_t kept = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (kept != 0 && lines[kept - 1].node == lines[i].node &&
        lines[kept - 1].label == lines[i].label) {
      lines[kept - 1].count += lines[i].count;
    } else {
      lines[kept++] = lines[i];
    }
  }
  lines.resize(kept);
  return lines;
}

std::vector<StackId> leaves_of(const Profile& profile, uint32_t event) {
  std::vector<StackId> leaves;
  for (const StackWeight& each : profile.stacks) {
    if (each.event == event) leaves.push_back(each.stack);
  }
  return leaves;
}

// " 12" or " 1.5": at the end of a name it would be taken for a count.
bool looks_like_count(std::string_view text) {
  return text.size() > 1 && text.front() == ' ' &&
         text.find_first_not_of("0123456789.", 1) == std::string_view::npos;
}

}  // namespace

std::string folded_escape(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const auto byte = static_cast<unsigned char>(name.front());
    const auto [length, shown] = next_character(name);
    // A line that begins with # is a comment, and spaces before the count are not the name's.
    const bool at_edge =
        (byte == '#' && out.empty()) || (byte == ' ' && name.size() == 1) || looks_like_count(name);
    if (!shown) {
      append_printable(out, name.substr(0, length));
    } else if (byte == ';' || at_edge || starts_escape(name)) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += name.substr(0, length);
    }
    name.remove_prefix(length);
  }
  return out;
}

std::string folded_unescape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (starts_escape(text)) {
      out += static_cast<char>(hex_value(text[2]) << 4U | hex_value(text[3]));
      text.remove_prefix(4);
    } else {
      const size_t plain = std::min(text.find('\\', 1), text.size());
      out += text.substr(0, plain);
      text.remove_prefix(plain);
    }
  }
  return out;
}

std::string folded_frame(const Frame& frame, bool unknown_as_dso) {
  if (frame.method.empty()) {
    const bool known = unknown_as_dso && !frame.dso.empty() && frame.dso != "[unknown]";
    return known ? fmt::format("[{}]", folded_escape(frame.dso)) : "[unknown]";
  }
  return folded_escape(shown_name(frame)) + std::string(mark(frame.kind));
}

void write_folded(const Profile& profile, const FoldedOptions& options,
                  const std::function<void(std::string_view)>& write) {
  Texts texts;
  for (const Frame& frame : profile.frames) {
    texts.add(folded_frame(frame, options.unknown_as_dso));
  }
  texts.sort();
  Texts labels;
  for (const Group& group : profile.groups) {
    std::string label = thread_label(group, options.per_thread);
    std::replace(label.begin(), label.end(), ' ', '_');
    labels.add(folded_escape(label));
  }
  labels.sort();
  const MergedStacks merged =
      merge_stacks(profile.nodes, texts.number_of,
                   used_stacks(profile.nodes, leaves_of(profile, options.event)));
  const std::vector<Line> lines = lines_of(profile, options, merged, labels.number_of);

  // Depth-first: the text of the caller's part stands in `path` already.
  std::string out;
  out.reserve(kPiece + (64U << 10U));
  std::string path;
  std::vector<size_t> end_at_depth{0};
  size_t line = 0;
  for (uint32_t i = 0; i < merged.nodes.size(); ++i) {
    const MergedStacks::Node& node = merged.nodes[i];
    if (i != 0) {
      end_at_depth.resize(node.depth);
      path.resize(end_at_depth.back());
      path += ';';
      path += texts[node.key];
      end_at_depth.push_back(path.size());
    }
    for (; line < lines.size() && lines[line].node == i; ++line) {
      const std::string_view label = labels[lines[line].label];
      if (label.empty() && path.empty()) continue;
      out += label;
      // Without a label the first `;` goes too.
      const size_t from = label.empty() ? 1 : 0;
      out.append(path, from, path.size() - from);
      out += ' ';
      const fmt::format_int count(lines[line].count);
      out.append(count.data(), count.size());
      out += '\n';
      if (out.size() >= kPiece) {
        write(out);
        out.clear();
      }
    }
  }
  if (!out.empty()) write(out);
}

std::string folded_text(const Profile& profile, const FoldedOptions& options) {
  std::string text;
  write_folded(profile, options, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace jitscope
