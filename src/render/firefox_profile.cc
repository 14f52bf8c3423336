#include "render/firefox_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "render/frame_text.h"
#include "render/json.h"
#include "render/thread_samples.h"

namespace jitscope {
namespace {

// A JSON array that grows value by value.
class Column {
 public:
  void number(uint64_t value) {
    const fmt::format_int text(value);
    raw({text.data(), text.size()});
  }
  void raw(std::string_view json) {
    if (!json_.empty()) json_ += ',';
    json_ += json;
    ++size_;
  }
  void text(std::string_view value) { raw(json_string(value)); }
  void repeat(std::string_view json, size_t count) {
    for (size_t i = 0; i < count; ++i) raw(json);
  }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] std::string str() const { return "[" + json_ + "]"; }

 private:
  std::string json_;
  size_t size_ = 0;
};

// Milliseconds since `start`, with nanoseconds.
std::string milliseconds(uint64_t time, uint64_t start) {
  const uint64_t since = time > start ? time - start : 0;
  return fmt::format("{}.{:06}", since / 1'000'000, since % 1'000'000);
}

// Kinds of code are the categories, tiers their subcategories; "Other" must be there and grey.
struct Category {
  std::string_view name;
  std::string_view color;
};
constexpr std::array<Category, 9> kCategories = {{
    {"Other", "grey"},
    {"Unknown", "darkgrey"},
    {"Native", "yellow"},
    {"Native inlined", "brown"},
    {"Kernel", "orange"},
    {"JIT", "green"},
    {"JIT inlined", "lightblue"},
    {"Runtime", "purple"},
    {"Interpreted", "magenta"},
}};
constexpr auto kTiers = static_cast<size_t>(Tier::stub) + 1;

size_t category_of(FrameKind kind) {
  switch (kind) {
    case FrameKind::unknown:
      return 1;
    case FrameKind::native:
      return 2;
    case FrameKind::native_inlined:
      return 3;
    case FrameKind::kernel:
      return 4;
    case FrameKind::jit:
      return 5;
    case FrameKind::jit_inlined:
      return 6;
    case FrameKind::runtime:
      return 7;
    case FrameKind::interpreted:
      return 8;
  }
  return 0;
}

// Subcategory 0 is "Other", tier t is t.
std::string categories_json() {
  Column subcategories;
  subcategories.text("Other");
  for (size_t tier = 1; tier < kTiers; ++tier) {
    subcategories.text(to_string(static_cast<Tier>(tier)));
  }
  return json_array(kCategories, [&](const Category& category) {
    JsonObject each("");
    each.text("name", category.name)
        .text("color", category.color)
        .raw("subcategories", subcategories.str());
    return each.str();
  });
}

class Libraries {
 public:
  uint64_t number(const Frame& frame) {
    const std::string& path = frame.dso_path.empty() ? frame.dso : frame.dso_path;
    const auto [at, added] = numbers_.try_emplace(path, numbers_.size());
    if (added) {
      JsonObject lib("");
      lib.text("arch", "x86_64")
          .text("name", frame.dso)
          .text("path", path)
          .text("debugName", frame.dso)
          .text("debugPath", path)
          .text("breakpadId", "000000000000000000000000000000000")
          .raw("codeId", "null");
      libs_.raw(lib.str());
    }
    return at->second;
  }
  [[nodiscard]] std::string json() const { return libs_.str(); }

 private:
  std::unordered_map<std::string, uint64_t> numbers_;
  Column libs_;
};

// Where stacks and frames of the profile are in the tables of the thread at work: number + 1, all
// zero between threads. Shared, because there may be thousands of threads.
struct Numbers {
  std::vector<uint32_t> stack;
  std::vector<uint32_t> frame;
};

class ThreadWriter {
 public:
  ThreadWriter(const Profile& profile, Libraries& libraries, Numbers& numbers)
      : profile_(profile), libraries_(libraries), numbers_(numbers) {}
  ~ThreadWriter() {
    for (const StackId id : stacks_) {
      numbers_.stack[id] = 0;
      numbers_.frame[profile_.nodes[id].frame] = 0;
    }
  }
  ThreadWriter(const ThreadWriter&) = delete;
  ThreadWriter& operator=(const ThreadWriter&) = delete;

  std::string write(const ThreadSamples& thread, bool name_event) {
    const bool timed = !profile_.timeline.empty();
    uint64_t count = 0;  // stands in for milliseconds when there is no time
    for (const ThreadSample& sample : thread.samples) {
      if (sample.stack == kRootStack) {
        sample_stack_.raw("null");
      } else {
        sample_stack_.number(stack(sample.stack));
      }
      if (timed) {
        sample_time_.raw(milliseconds(sample.time, profile_.first_time));
      } else {
        sample_time_.number(count);
      }
      count += sample.samples;
      sample_weight_.number(sample.samples);
    }
    const Group& group = profile_.groups[thread.group];
    std::string name = group.comm.empty() ? fmt::format("thread {}", group.tid) : group.comm;
    if (name_event) name += " (" + profile_.events[thread.event].name + ")";

    JsonObject samples("");
    samples.number("length", sample_stack_.size())
        .raw("stack", sample_stack_.str())
        .raw("time", sample_time_.str())
        .raw("weight", sample_weight_.str())
        .text("weightType", "samples");
    JsonObject out("");
    out.text("processType", "default")
        .text("processName", process_label(group))
        .raw("processStartupTime", "0")
        .raw("processShutdownTime", "null")
        .raw("registerTime", "0")
        .raw("unregisterTime", "null")
        .raw("pausedRanges", "[]")
        .text("name", name)
        .boolean("isMainThread", group.pid == group.tid)
        .text("pid", fmt::to_string(group.pid))
        .number("tid", group.tid)
        .raw("samples", samples.str())
        .raw("markers", R"({"length":0,"category":[],"data":[],"endTime":[],"name":[],"phase":[],)"
                        R"("startTime":[]})")
        .raw("stackTable", stack_table())
        .raw("frameTable", frame_table())
        .raw("funcTable", function_table())
        .raw("resourceTable", resource_table())
        .raw("nativeSymbols",
             R"({"length":0,"address":[],"functionSize":[],"libIndex":[],"name":[]})")
        .raw("stringArray", strings_.str());
    return out.str();
  }

 private:
  uint64_t string(std::string_view text) {
    const auto [at, added] = string_numbers_.try_emplace(std::string(text), strings_.size());
    if (added) strings_.text(text);
    return at->second;
  }

  // Number of the stack in this thread's table; callers stand before what they call.
  uint64_t stack(StackId id) {
    path_.clear();
    for (; id != kRootStack && numbers_.stack[id] == 0; id = profile_.nodes[id].parent) {
      path_.push_back(id);
    }
    uint64_t at = id == kRootStack ? 0 : numbers_.stack[id];
    for (size_t i = path_.size(); i-- > 0;) {
      stack_frame_.number(frame(profile_.nodes[path_[i]].frame));
      if (at == 0) {
        stack_prefix_.raw("null");
      } else {
        stack_prefix_.number(at - 1);
      }
      at = stack_frame_.size();
      numbers_.stack[path_[i]] = static_cast<uint32_t>(at);
      stacks_.push_back(path_[i]);
    }
    return at - 1;
  }

  uint64_t frame(FrameId id) {
    if (numbers_.frame[id] != 0) return numbers_.frame[id] - 1;
    const Frame& frame = profile_.frames[id];
    frame_function_.number(function(frame));
    frame_category_.number(category_of(frame.kind));
    frame_subcategory_.number(static_cast<uint64_t>(frame.tier));
    frame_inline_depth_.number(is_inlined(frame.kind) ? 1 : 0);
    if (frame.line == 0) {
      frame_line_.raw("null");
    } else {
      frame_line_.number(frame.line);
    }
    numbers_.frame[id] = static_cast<uint32_t>(frame_function_.size());
    return numbers_.frame[id] - 1;
  }

  uint64_t function(const Frame& frame) {
    const std::string key = shown_name(frame) + '\0' + frame.dso_path + '\0' + frame.dso + '\0' +
                            frame.file + (is_jit(frame.kind) ? "\1" : "\2");
    const auto [at, added] = function_numbers_.try_emplace(key, function_name_.size());
    if (!added) return at->second;
    function_name_.number(string(shown_name(frame)));
    function_js_.raw("false");
    if (frame.dso.empty()) {
      function_resource_.raw("-1");
    } else {
      function_resource_.number(resource(frame));
    }
    if (frame.file.empty()) {
      function_file_.raw("null");
    } else {
      function_file_.number(string(frame.file));
    }
    return at->second;
  }

  uint64_t resource(const Frame& frame) {
    const uint64_t library = libraries_.number(frame);
    const auto [at, added] = resource_numbers_.try_emplace(library, resource_lib_.size());
    if (added) {
      resource_lib_.number(library);
      resource_name_.number(string(frame.dso));
    }
    return at->second;
  }

  [[nodiscard]] std::string stack_table() const {
    JsonObject table("");
    table.number("length", stack_frame_.size())
        .raw("frame", stack_frame_.str())
        .raw("prefix", stack_prefix_.str());
    return table.str();
  }

  static std::string constant(std::string_view json, size_t count) {
    Column column;
    column.repeat(json, count);
    return column.str();
  }

  [[nodiscard]] std::string frame_table() const {
    const size_t length = frame_function_.size();
    JsonObject table("");
    table.number("length", length)
        .raw("address", constant("-1", length))
        .raw("inlineDepth", frame_inline_depth_.str())
        .raw("category", frame_category_.str())
        .raw("subcategory", frame_subcategory_.str())
        .raw("func", frame_function_.str())
        .raw("nativeSymbol", constant("null", length))
        .raw("innerWindowID", constant("0", length))
        .raw("line", frame_line_.str())
        .raw("column", constant("null", length));
    return table.str();
  }

  [[nodiscard]] std::string function_table() const {
    const size_t length = function_name_.size();
    JsonObject table("");
    table.number("length", length)
        .raw("name", function_name_.str())
        .raw("isJS", function_js_.str())
        .raw("relevantForJS", function_js_.str())
        .raw("resource", function_resource_.str())
        .raw("fileName", function_file_.str())
        .raw("lineNumber", constant("null", length))
        .raw("columnNumber", constant("null", length));
    return table.str();
  }

  [[nodiscard]] std::string resource_table() const {
    const size_t length = resource_lib_.size();
    JsonObject table("");
    table.number("length", length)
        .raw("lib", resource_lib_.str())
        .raw("name", resource_name_.str())
        .raw("host", constant("null", length))
        .raw("type", constant("1", length));  // a library
    return table.str();
  }

  const Profile& profile_;
  Libraries& libraries_;
  Numbers& numbers_;
  std::vector<StackId> stacks_;  // those with a number
  std::vector<StackId> path_;
  Column strings_, sample_stack_, sample_time_, sample_weight_, stack_frame_, stack_prefix_;
  Column frame_function_, frame_category_, frame_subcategory_, frame_inline_depth_, frame_line_;
  Column function_name_, function_js_, function_resource_, function_file_;
  Column resource_lib_, resource_name_;
  std::unordered_map<std::string, uint64_t> string_numbers_;
  std::unordered_map<std::string, uint64_t> function_numbers_;
  std::unordered_map<uint64_t, uint64_t> resource_numbers_;
};

// The mean time between two samples of the whole recording, for the viewer's graph of activity.
std::string interval_of(const Profile& profile, const std::vector<ThreadSamples>& threads) {
  uint64_t samples = 0;
  uint64_t weight = 0;
  for (const ThreadSamples& thread : threads) {
    if (profile.events[thread.event].unit != "nanoseconds") continue;
    samples += thread.total_samples;
    weight += thread.total_weight;
  }
  if (samples != 0 && weight != 0) return milliseconds(weight / samples, 0);
  return "1";
}

}  // namespace

std::string firefox_profile(const Profile& profile, const FirefoxOptions& options) {
  const std::vector<ThreadSamples> by_thread = samples_by_thread(profile);
  Libraries libraries;
  Numbers numbers{std::vector<uint32_t>(profile.nodes.size()),
                  std::vector<uint32_t>(profile.frames.size())};
  std::string threads;
  for (const ThreadSamples& thread : by_thread) {
    if (!threads.empty()) threads += ',';
    threads += ThreadWriter(profile, libraries, numbers).write(thread, profile.events.size() > 1);
  }
  JsonObject meta("");
  meta.raw("categories", categories_json())
      .boolean("debug", false)
      .raw("extensions", R"({"length":0,"baseURL":[],"id":[],"name":[]})")
      .raw("interval", interval_of(profile, by_thread))
      .number("preprocessedProfileVersion", 54)
      .number("processType", 0)
      .text("product", profile.command.empty() ? options.product : profile.command)
      .text("importedFrom", options.product)
      .raw("sampleUnits", R"({"time":"ms","eventDelay":"ms","threadCPUDelta":"µs"})")
      .raw("startTime", milliseconds(options.wall_clock_start, 0))
      .boolean("symbolicated", true)
      .boolean("symbolicationNotSupported", true)
      .boolean("usesOnlyOneStackType", true)
      .boolean("sourceCodeIsNotOnSearchfox", true)
      .number("stackwalk", 1)
      .number("version", 27)
      .raw("markerSchema", "[]");
  if (!profile.command.empty()) meta.text("arguments", profile.command);
  if (!profile.hostname.empty()) meta.text("device", profile.hostname);
  JsonObject out("");
  out.raw("meta", meta.str())
      .raw("libs", libraries.json())
      .raw("pages", "[]")
      .raw("profilerOverhead", "[]")
      .raw("counters", "[]")
      .raw("threads", "[" + threads + "]");
  return out.str() + "\n";
}

}  // namespace jitscope
