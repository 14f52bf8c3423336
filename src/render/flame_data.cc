#include "render/flame_data.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "render/json.h"
#include "render/protobuf.h"
#include "render/stack_merge.h"

namespace jitscope {
namespace {

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) {
      word = word << 8U | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      out += k <= count ? kDigits[word >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return out;
}

// Of a text without anything to escape.
std::string quoted(std::string text) {
  text.insert(text.begin(), '"');
  text += '"';
  return text;
}

class Strings {
 public:
  uint64_t number(std::string_view text) {
    const auto [at, added] = numbers_.try_emplace(std::string(text), numbers_.size());
    if (added) {
      if (at->second != 0) json_ += ',';
      append_json_string(json_, text);
    }
    return at->second;
  }
  [[nodiscard]] std::string json() const { return "[" + json_ + "]"; }

 private:
  std::unordered_map<std::string, uint64_t> numbers_;
  std::string json_;
};

template <typename Range>
std::string numbers_json(const Range& range) {
  return json_array(range, [](uint64_t number) { return std::to_string(number); });
}

// A frame as the page shows it: those of a method that differ in what is not told apart are one.
struct Shown {
  const Frame* frame = nullptr;
  uint32_t first_line = 0;
  uint32_t last_line = 0;
};

class DataWriter {
 public:
  DataWriter(std::span<const Profile* const> sides, const FlameOptions& options)
      : sides_(sides), options_(options) {
    if (sides.size() < 2) return;
    for (const Profile* side : sides) {
      compare_dso_ &=
          std::ranges::any_of(side->frames, [](const Frame& frame) { return !frame.dso.empty(); });
    }
  }

  std::string write(std::span<const std::string> side_names) {
    collect_frames();
    collect_stacks();
    const Profile& profile = *sides_.back();
    JsonObject out("");
    out.number("version", 1)
        .text("title", options_.title.empty() ? profile.command : options_.title)
        .text("command", profile.command)
        .text("host", profile.hostname)
        .number("samples", profile.samples)
        .number("lost", profile.lost)
        .number("first", profile.first_time)
        .number("last", profile.last_time)
        .raw("options", options_json())
        .raw("sides", json_array(side_names, json_string))
        .raw("events", events_json())
        .raw("groups", groups_json())
        .raw("frames", frames_json())
        .number("nodeCount", node_count_)
        .raw("nodes", quoted(base64(packed_nodes_)))
        .number("entryCount", entry_count_)
        .raw("entries", quoted(base64(packed_entries_)))
        .raw("strings", strings_.json());
    return out.str();
  }

 private:
  [[nodiscard]] std::string options_json() const {
    JsonObject out("");
    out.number("event", options_.event)
        .text("measure", options_.measure == Measure::samples ? "samples" : "weight")
        .boolean("icicle", options_.icicle)
        .boolean("reverse", options_.reverse);
    return out.str();
  }

  // What tells frames apart; in the order of this text siblings are shown.
  [[nodiscard]] std::string frame_key(const Frame& frame) const {
    std::string key = frame.method;
    const auto part = [&](std::string_view text) {
      key += '\0';
      key += text;
    };
    if (sides_.size() > 1) {
      if (compare_dso_) part(frame.dso);
      return key;
    }
    part(frame.dso);
    part(frame.dso_path);
    part(to_string(frame.kind));
    part(to_string(frame.tier));
    part(to_string(frame.source));
    part(frame.ambiguous ? "?" : "");
    part(frame.raw);
    part(to_string(frame.no_name));
    part(frame.candidates);
    part(frame.file);
    if (options_.split_lines) part(std::to_string(frame.line));
    return key;
  }

  void collect_frames() {
    std::unordered_map<std::string, uint32_t> numbers;
    std::vector<std::string_view> keys;
    for (const Profile* side : sides_) {
      for (const Frame& frame : side->frames) {
        const auto [at, added] =
            numbers.try_emplace(frame_key(frame), static_cast<uint32_t>(numbers.size()));
        if (added) {
          keys.push_back(at->first);
          shown_.push_back({&frame, frame.line, frame.line});
        }
        key_of_frame_.push_back(at->second);
        Shown& shown = shown_[at->second];
        if (frame.line != 0) {
          shown.first_line =
              shown.first_line == 0 ? frame.line : std::min(shown.first_line, frame.line);
          shown.last_line = std::max(shown.last_line, frame.line);
        }
      }
    }
    std::vector<uint32_t> order(shown_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    std::vector<uint32_t> rank(order.size());
    std::vector<Shown> sorted;
    for (uint32_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = i;
      sorted.push_back(shown_[order[i]]);
    }
    shown_ = std::move(sorted);
    for (uint32_t& key : key_of_frame_) key = rank[key];
  }

  uint32_t group_number(const Group& group) {
    Group shown = group;
    if (sides_.size() > 1) shown.pid = shown.tid = 0;  // other runs have other numbers
    const std::string key = std::to_string(shown.pid) + ' ' + std::to_string(shown.tid) + ' ' +
                            shown.comm + '\0' + shown.process;
    const auto [at, added] =
        group_numbers_.try_emplace(key, static_cast<uint32_t>(group_numbers_.size()));
    if (added) groups_.push_back(std::move(shown));
    return at->second;
  }

  uint32_t event_number(const EventName& event) {
    const auto at = std::ranges::find_if(
        events_, [&](const EventName& each) { return each.name == event.name; });
    if (at != events_.end()) return static_cast<uint32_t>(at - events_.begin());
    events_.push_back(event);
    return static_cast<uint32_t>(events_.size() - 1);
  }

  struct Entry {
    uint32_t node = 0;
    uint32_t group = 0;
    uint32_t event = 0;
    uint32_t side = 0;
    uint64_t samples = 0;
    uint64_t weight = 0;
    [[nodiscard]] bool same_place(const Entry& other) const {
      return node == other.node && group == other.group && event == other.event &&
             side == other.side;
    }
  };

  // The stacks of all sides as one tree: those of the second side stand behind the first's.
  void collect_stacks() {
    std::vector<StackNode> nodes{StackNode{}};
    std::vector<StackId> leaves;
    std::vector<Entry> entries;
    FrameId first_frame = 0;
    for (uint32_t side = 0; side < sides_.size(); ++side) {
      const Profile& profile = *sides_[side];
      const auto before = static_cast<StackId>(nodes.size() - 1);
      const auto moved = [&](StackId id) { return id == kRootStack ? kRootStack : id + before; };
      for (size_t i = 1; i < profile.nodes.size(); ++i) {
        nodes.push_back({moved(profile.nodes[i].parent), profile.nodes[i].frame + first_frame});
      }
      std::vector<uint32_t> events;
      for (const EventName& event : profile.events) events.push_back(event_number(event));
      std::vector<uint32_t> groups;
      for (const Group& group : profile.groups) groups.push_back(group_number(group));
      for (const StackWeight& each : profile.stacks) {
        leaves.push_back(moved(each.stack));
        entries.push_back(
            {0, groups[each.group], events[each.event], side, each.samples, each.weight});
      }
      first_frame += static_cast<FrameId>(profile.frames.size());
    }
    const MergedStacks merged = merge_stacks(nodes, key_of_frame_, used_stacks(nodes, leaves));
    for (size_t i = 0; i < entries.size(); ++i) entries[i].node = merged.node[leaves[i]];
    pack_nodes(merged);
    pack_entries(entries);
  }

  void pack_nodes(const MergedStacks& merged) {
    uint32_t depth = 0;
    for (size_t i = 1; i < merged.nodes.size(); ++i) {
      const MergedStacks::Node& node = merged.nodes[i];
      ProtobufMessage::varint(packed_nodes_, node.key);
      ProtobufMessage::varint(packed_nodes_, depth + 1 - node.depth);
      depth = node.depth;
    }
    node_count_ = merged.nodes.size() - 1;
  }

  void pack_entries(std::vector<Entry>& entries) {
    std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
      if (a.node != b.node) return a.node < b.node;
      if (a.group != b.group) return a.group < b.group;
      return a.event != b.event ? a.event < b.event : a.side < b.side;
    });
    uint32_t last = 0;
    for (size_t i = 0; i < entries.size();) {
      Entry entry = entries[i++];
      for (; i < entries.size() && entries[i].same_place(entry); ++i) {
        entry.samples += entries[i].samples;
        entry.weight += entries[i].weight;
      }
      ProtobufMessage::varint(packed_entries_, entry.node - last);
      ProtobufMessage::varint(packed_entries_, entry.group);
      ProtobufMessage::varint(packed_entries_, entry.event);
      ProtobufMessage::varint(packed_entries_, entry.side);
      ProtobufMessage::varint(packed_entries_, entry.samples);
      ProtobufMessage::varint(packed_entries_, entry.weight);
      last = entry.node;
      ++entry_count_;
    }
  }

  [[nodiscard]] std::string events_json() const {
    return json_array(events_, [](const EventName& event) {
      JsonObject each("");
      each.text("name", event.name).text("unit", event.unit);
      return each.str();
    });
  }

  [[nodiscard]] std::string groups_json() const {
    return json_array(groups_, [](const Group& group) {
      JsonObject each("");
      each.number("pid", group.pid)
          .number("tid", group.tid)
          .text("comm", group.comm)
          .text("process", group.process.empty() ? group.comm : group.process);
      return each.str();
    });
  }

  std::string frames_json() {
    const auto column = [&](auto&& value) {
      return json_array(shown_, [&](const Shown& shown) { return std::to_string(value(shown)); });
    };
    const auto text = [&](std::string Frame::* member) {
      return column([&](const Shown& shown) { return strings_.number(shown.frame->*member); });
    };
    const auto named = [&](auto Frame::* member) {
      return column(
          [&](const Shown& shown) { return strings_.number(to_string(shown.frame->*member)); });
    };
    JsonObject out("");
    out.raw("method", text(&Frame::method))
        .raw("raw", text(&Frame::raw))
        .raw("dso", text(&Frame::dso))
        .raw("path", text(&Frame::dso_path))
        .raw("kind", named(&Frame::kind))
        .raw("tier", named(&Frame::tier))
        .raw("source", named(&Frame::source))
        .raw("ambiguous", column([](const Shown& shown) { return shown.frame->ambiguous ? 1 : 0; }))
        .raw("reason", named(&Frame::no_name))
        .raw("candidates", text(&Frame::candidates))
        .raw("file", text(&Frame::file))
        .raw("line", column([](const Shown& shown) { return shown.first_line; }))
        .raw("lastLine", column([](const Shown& shown) { return shown.last_line; }));
    return out.str();
  }

  std::span<const Profile* const> sides_;
  const FlameOptions& options_;
  bool compare_dso_ = true;
  std::vector<Shown> shown_;            // by key
  std::vector<uint32_t> key_of_frame_;  // of all sides' frames, one side behind the other
  std::vector<EventName> events_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, uint32_t> group_numbers_;
  Strings strings_;
  std::string packed_nodes_;
  std::string packed_entries_;
  size_t node_count_ = 0;
  size_t entry_count_ = 0;
};

}  // namespace

std::string flame_data(std::span<const Profile* const> sides,
                       std::span<const std::string> side_names, const FlameOptions& options) {
  return DataWriter(sides, options).write(side_names);
}

}  // namespace jitscope
