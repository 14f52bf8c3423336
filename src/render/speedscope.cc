#include "render/speedscope.h"

#include <fmt/format.h>

#include <algorithm>

#include "render/frame_text.h"
#include "render/json.h"
#include "render/thread_samples.h"

namespace jitscope {
namespace {

void append_number(std::string& out, uint64_t number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

void append_frames(std::string& out, const Profile& profile) {
  for (size_t i = 0; i < profile.frames.size(); ++i) {
    const Frame& frame = profile.frames[i];
    JsonObject each("");
    each.text("name", shown_name(frame));
    // speedscope colours by file: the library stands in where the source file is not known.
    const std::string& file = !frame.file.empty() ? frame.file : frame.dso;
    if (!file.empty()) each.text("file", file);
    if (frame.line != 0) each.number("line", frame.line);
    if (i != 0) out += ',';
    out += each.str();
  }
}

void append_thread(std::string& out, const Profile& profile, const ThreadSamples& thread,
                   bool name_event) {
  const EventName& event = profile.events[thread.event];
  const bool nanoseconds = event.unit == "nanoseconds";
  std::string name = thread_label(profile.groups[thread.group], true);
  if (name_event) name += " (" + event.name + ")";

  std::string samples;
  std::string weights;
  std::vector<FrameId> stack;
  uint64_t sum = 0;
  for (size_t i = 0; i < thread.samples.size();) {
    const StackId leaf = thread.samples[i].stack;
    uint64_t weight = 0;  // neighbours with the same stack are one
    for (; i < thread.samples.size() && thread.samples[i].stack == leaf; ++i) {
      weight += thread.samples[i].weight;
    }
    sum += weight;
    if (!weights.empty()) {
      weights += ',';
      samples += ',';
    }
    append_number(weights, weight);
    stack.clear();
    for (StackId id = leaf; id != kRootStack; id = profile.nodes[id].parent) {
      stack.push_back(profile.nodes[id].frame);
    }
    samples += '[';
    for (size_t k = stack.size(); k-- > 0;) {
      append_number(samples, stack[k]);
      if (k != 0) samples += ',';
    }
    samples += ']';
  }
  out += R"({"type":"sampled","name":)";
  append_json_string(out, name);
  out += fmt::format(R"(,"unit":"{}","startValue":0,"endValue":{},"samples":[)",
                     nanoseconds ? "nanoseconds" : "none", sum);
  out += samples;
  out += R"(],"weights":[)";
  out += weights;
  out += "]}";
}

}  // namespace

std::string speedscope_json(const Profile& profile, const SpeedscopeOptions& options) {
  const std::string& name = options.name.empty() ? profile.command : options.name;
  std::string out = R"({"$schema":"https://www.speedscope.app/file-format-schema.json",)";
  out += R"("exporter":"jitscope","name":)";
  append_json_string(out, name.empty() ? "jitscope" : name);
  out += R"(,"activeProfileIndex":0,"shared":{"frames":[)";
  append_frames(out, profile);
  out += R"(]},"profiles":[)";
  bool first = true;
  for (const ThreadSamples& thread : samples_by_thread(profile)) {
    if (!first) out += ',';
    first = false;
    append_thread(out, profile, thread, profile.events.size() > 1);
  }
  out += "]}\n";
  return out;
}

}  // namespace jitscope
