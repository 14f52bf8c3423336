#include "render/pprof.h"

#include <zlib.h>

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/utf8.h"
#include "render/frame_text.h"
#include "render/protobuf.h"

namespace jitscope {
namespace {

// Field numbers of profile.proto.
namespace field {
enum Profile : uint32_t {
  sample_type = 1,
  sample = 2,
  mapping = 3,
  location = 4,
  function = 5,
  string_table = 6,
  time_nanos = 9,
  duration_nanos = 10,
  period_type = 11,
  period = 12,
  comment = 13,
  default_sample_type = 14,
};
enum ValueType : uint32_t { value_type = 1, value_unit = 2 };
enum Sample : uint32_t { sample_location_id = 1, sample_value = 2, sample_label = 3 };
enum Label : uint32_t { label_key = 1, label_str = 2, label_num = 3 };
enum Mapping : uint32_t {
  mapping_id = 1,
  mapping_filename = 5,
  mapping_build_id = 6,
  mapping_has_functions = 7,
  mapping_has_filenames = 8,
  mapping_has_line_numbers = 9,
  mapping_has_inline_frames = 10,
};
enum Location : uint32_t { location_id = 1, location_mapping_id = 2, location_line = 4 };
enum Line : uint32_t { line_function_id = 1, line_line = 2 };
enum Function : uint32_t {
  function_id = 1,
  function_name = 2,
  function_system_name = 3,
  function_filename = 4,
};
}  // namespace field

constexpr size_t kMaxInlined = 64;

// proto3 strings are UTF-8.
std::string utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const Profile& profile) : profile_(profile) { string(""); }

  std::string write(const PprofOptions& options) {
    for (const EventName& event : profile_.events) {
      out_.message(field::sample_type, value_type("samples", "count"));
      out_.message(field::sample_type, value_type(event.name, event.unit));
    }
    write_locations();
    write_samples();
    write_mappings(options);
    out_.number(field::time_nanos, options.wall_clock_start);
    out_.number(field::duration_nanos,
                profile_.last_time - std::min(profile_.first_time, profile_.last_time));
    write_period();
    if (!profile_.command.empty()) out_.number(field::comment, string(profile_.command));
    if (!profile_.hostname.empty()) out_.number(field::comment, string(profile_.hostname));
    for (const std::string& text : strings_) out_.bytes(field::string_table, text);
    return out_.str();
  }

 private:
  uint64_t string(std::string_view text) {
    const auto [at, added] = string_numbers_.try_emplace(utf8(text), strings_.size());
    if (added) strings_.push_back(at->first);
    return at->second;
  }

  ProtobufMessage value_type(std::string_view type, std::string_view unit) {
    ProtobufMessage message;
    message.number(field::value_type, string(type));
    message.number(field::value_unit, string(unit));
    return message;
  }

  static const std::string& path_of(const Frame& frame) {
    return frame.dso_path.empty() ? frame.dso : frame.dso_path;
  }

  uint64_t mapping_number(const std::string& path) {
    const auto [at, added] = mapping_numbers_.try_emplace(path, mappings_.size() + 1);
    if (added) {
      mappings_.emplace_back();
      mappings_.back().filename = string(path);
    }
    return at->second;
  }

  // Of a location: the outermost frame says whose code it is.
  uint64_t mapping(std::span<const FrameId> lines) {
    const std::string& path = path_of(profile_.frames[lines.back()]);
    if (path.empty()) return 0;
    const uint64_t number = mapping_number(path);
    Mapping& mapping = mappings_[number - 1];
    mapping.has_inlined |= lines.size() > 1;
    for (const FrameId each : lines) {
      mapping.has_files |= !profile_.frames[each].file.empty();
      mapping.has_lines |= profile_.frames[each].line != 0;
    }
    return number;
  }

  // The process with the most samples.
  [[nodiscard]] std::string main_process() const {
    std::map<std::string, uint64_t> samples;
    std::string main;
    for (const StackWeight& each : profile_.stacks) {
      const Group& group = profile_.groups[each.group];
      const std::string& name = group.process.empty() ? group.comm : group.process;
      const uint64_t sum = samples[name] += each.samples;
      if (!name.empty() && sum >= samples[main]) main = name;
    }
    return main;
  }

  // The first mapping is the program's, to those who read the file: that of a file with the main
  // process's name, else (it was never seen running, as the launcher of a JVM) the name alone.
  void number_main_mapping() {
    constexpr size_t longest_comm = 15;
    const std::string main = main_process();
    if (main.empty()) return;
    for (const Frame& frame : profile_.frames) {
      const std::string& path = path_of(frame);
      if (!path.starts_with('/')) continue;
      if (path.substr(path.rfind('/') + 1).substr(0, longest_comm) == main) {
        (void)mapping_number(path);
        return;
      }
    }
    (void)mapping_number(main);
  }

  // Frames that differ in lines only are one function.
  uint64_t function(const Frame& frame) {
    ProtobufMessage message;
    message.number(field::function_name, string(shown_name(frame)));
    message.number(field::function_system_name, string(frame.raw));
    message.number(field::function_filename, string(frame.file));
    const auto [at, added] =
        function_numbers_.try_emplace(message.str(), function_numbers_.size() + 1);
    if (added) {
      message.number(field::function_id, at->second);
      out_.message(field::function, message);
    }
    return at->second;
  }

  // A location is a frame with all that was inlined into it, down to one inlined frame: `outer` is
  // the location without the last one (0 for the frame itself).
  uint64_t location(uint64_t outer, FrameId frame) {
    const auto [at, added] =
        location_numbers_.try_emplace(outer << 32U | frame, location_numbers_.size() + 1);
    if (!added) return at->second;
    std::vector<FrameId> lines{frame};
    if (outer != 0) {
      lines.insert(lines.end(), location_frames_[outer - 1].begin(),
                   location_frames_[outer - 1].end());
    }
    ProtobufMessage message;
    message.number(field::location_id, at->second);
    message.number(field::location_mapping_id, mapping(lines));
    for (const FrameId each : lines) {
      ProtobufMessage line;
      line.number(field::line_function_id, functions_[each]);
      line.number(field::line_line, profile_.frames[each].line);
      message.message(field::location_line, line);
    }
    out_.message(field::location, message);
    location_frames_.push_back(std::move(lines));
    return at->second;
  }

  void write_locations() {
    number_main_mapping();
    functions_.reserve(profile_.frames.size());
    for (const Frame& frame : profile_.frames) functions_.push_back(function(frame));
    const size_t count = profile_.nodes.size();
    location_of_.resize(count);
    caller_of_.resize(count);
    for (StackId id = 1; id < count; ++id) {
      const StackNode& node = profile_.nodes[id];
      // Deeper chains than any compiler makes are cut: each location repeats its whole chain.
      const bool inlined = node.parent != kRootStack &&
                           is_inlined(profile_.frames[node.frame].kind) &&
                           location_frames_[location_of_[node.parent] - 1].size() < kMaxInlined;
      caller_of_[id] = inlined ? caller_of_[node.parent] : node.parent;
      location_of_[id] = location(inlined ? location_of_[node.parent] : 0, node.frame);
    }
  }

  void text_label(ProtobufMessage& sample, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    ProtobufMessage label;
    label.number(field::label_key, string(key));
    label.number(field::label_str, string(value));
    sample.message(field::sample_label, label);
  }
  void number_label(ProtobufMessage& sample, std::string_view key, uint64_t value) {
    ProtobufMessage label;
    label.number(field::label_key, string(key));
    label.present(field::label_num, value);
    sample.message(field::sample_label, label);
  }

  void write_samples() {
    std::vector<ProtobufMessage> thread_labels(profile_.groups.size());
    for (size_t i = 0; i < thread_labels.size(); ++i) {
      number_label(thread_labels[i], "pid", profile_.groups[i].pid);
      number_label(thread_labels[i], "tid", profile_.groups[i].tid);
      text_label(thread_labels[i], "comm", profile_.groups[i].comm);
    }
    // One sample has the values of all events; lines of one stack and thread stand together.
    std::vector<const StackWeight*> order;
    order.reserve(profile_.stacks.size());
    for (const StackWeight& each : profile_.stacks) order.push_back(&each);
    std::sort(order.begin(), order.end(), [](const StackWeight* a, const StackWeight* b) {
      return a->stack != b->stack ? a->stack < b->stack : a->group < b->group;
    });
    std::vector<uint64_t> values(profile_.events.size() * 2);
    std::string packed;
    ProtobufMessage sample;
    for (size_t i = 0; i < order.size();) {
      const StackWeight& first = *order[i];
      std::fill(values.begin(), values.end(), 0);
      for (; i < order.size() && order[i]->stack == first.stack && order[i]->group == first.group;
           ++i) {
        values[size_t{order[i]->event} * 2] += order[i]->samples;
        values[size_t{order[i]->event} * 2 + 1] += order[i]->weight;
      }
      sample.clear();
      packed.clear();
      for (StackId id = first.stack; id != kRootStack; id = caller_of_[id]) {
        ProtobufMessage::varint(packed, location_of_[id]);
      }
      sample.bytes(field::sample_location_id, packed);
      packed.clear();
      for (const uint64_t value : values) ProtobufMessage::varint(packed, value);
      sample.bytes(field::sample_value, packed);
      std::string bytes = sample.str() + thread_labels[first.group].str();
      if (first.stack != kRootStack) bytes += leaf_labels(profile_.nodes[first.stack].frame);
      out_.bytes(field::sample, bytes);
    }
  }

  const std::string& leaf_labels(FrameId id) {
    const auto [at, added] = leaf_labels_.try_emplace(id);
    if (added) {
      const Frame& frame = profile_.frames[id];
      ProtobufMessage labels;
      text_label(labels, "source", to_string(frame.source));
      if (frame.tier != Tier::unknown) text_label(labels, "tier", to_string(frame.tier));
      text_label(labels, "unnamed", frame.method.empty() ? to_string(frame.no_name) : "");
      at->second = labels.str();
    }
    return at->second;
  }

  void write_mappings(const PprofOptions& options) {
    for (size_t i = 0; i < mappings_.size(); ++i) {
      ProtobufMessage message;
      message.number(field::mapping_id, i + 1);
      message.number(field::mapping_filename, mappings_[i].filename);
      const auto id = options.build_ids.find(strings_[mappings_[i].filename]);
      if (id != options.build_ids.end()) {
        message.number(field::mapping_build_id, string(id->second));
      }
      // Also where nothing has a name: what could be found is found, and there are no addresses to
      // look for more.
      message.number(field::mapping_has_functions, 1);
      message.number(field::mapping_has_filenames, mappings_[i].has_files ? 1 : 0);
      message.number(field::mapping_has_line_numbers, mappings_[i].has_lines ? 1 : 0);
      message.number(field::mapping_has_inline_frames, mappings_[i].has_inlined ? 1 : 0);
      out_.message(field::mapping, message);
    }
  }

  // The mean distance of samples of the first event.
  void write_period() {
    if (profile_.events.empty()) return;
    uint64_t samples = 0;
    uint64_t weight = 0;
    for (const StackWeight& each : profile_.stacks) {
      if (each.event != 0) continue;
      samples += each.samples;
      weight += each.weight;
    }
    out_.message(field::period_type, value_type(profile_.events[0].name, profile_.events[0].unit));
    if (samples != 0) out_.number(field::period, weight / samples);
    out_.number(field::default_sample_type, string(profile_.events[0].name));
  }

  struct Mapping {
    uint64_t filename = 0;
    bool has_files = false;
    bool has_lines = false;
    bool has_inlined = false;
  };

  const Profile& profile_;
  ProtobufMessage out_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, uint64_t> string_numbers_;
  std::vector<Mapping> mappings_;
  std::unordered_map<std::string, uint64_t> mapping_numbers_;
  std::unordered_map<std::string, uint64_t> function_numbers_;
  std::unordered_map<uint64_t, uint64_t> location_numbers_;
  std::vector<std::vector<FrameId>> location_frames_;  // innermost first
  std::vector<uint64_t> functions_;                    // of each frame
  std::vector<uint64_t> location_of_;                  // of each stack
  std::vector<StackId> caller_of_;  // the stack below the location's outermost frame
  std::unordered_map<FrameId, std::string> leaf_labels_;
};

Result<std::string> gzip(std::string_view bytes) {
  z_stream stream = {};
  // 15 + 16: the largest window, in a gzip frame. Level 3: twice as fast as 6, and nearly as small.
  if (::deflateInit2(&stream, 3, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return fail(ErrorKind::not_possible, "zlib cannot start to compress");
  }
  std::string out;
  std::string buffer(256U << 10U, '\0');
  int state = Z_OK;
  do {
    if (stream.avail_in == 0) {
      const size_t size = std::min<size_t>(bytes.size(), 1U << 30U);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(size);
      bytes.remove_prefix(size);
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    state = ::deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.append(buffer, 0, buffer.size() - stream.avail_out);
  } while (state == Z_OK || state == Z_BUF_ERROR);
  ::deflateEnd(&stream);
  if (state != Z_STREAM_END) return fail(ErrorKind::not_possible, "zlib failed to compress");
  return out;
}

}  // namespace

Result<std::string> pprof_profile(const Profile& profile, const PprofOptions& options) {
  std::string bytes = Writer(profile).write(options);
  if (!options.compress) return bytes;
  return gzip(bytes);
}

}  // namespace jitscope
