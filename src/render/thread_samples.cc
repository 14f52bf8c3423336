#include "render/thread_samples.h"

#include <algorithm>

namespace jitscope {

std::vector<ThreadSamples> samples_by_thread(const Profile& profile) {
  const size_t groups = profile.groups.size();
  std::vector<ThreadSamples> all(groups * profile.events.size());
  const auto add = [&](uint32_t group, uint32_t event, const ThreadSample& sample) {
    ThreadSamples& thread = all[event * groups + group];
    thread.group = group;
    thread.event = event;
    thread.samples.push_back(sample);
    thread.total_samples += sample.samples;
    thread.total_weight += sample.weight;
  };
  if (!profile.timeline.empty()) {
    for (const TimedSample& each : profile.timeline) {
      add(each.group, each.event, {each.time, each.stack, 1, each.weight});
    }
  } else {
    for (const StackWeight& each : profile.stacks) {
      add(each.group, each.event, {0, each.stack, each.samples, each.weight});
    }
  }
  std::erase_if(all, [](const ThreadSamples& thread) { return thread.samples.empty(); });
  std::stable_sort(all.begin(), all.end(), [](const ThreadSamples& a, const ThreadSamples& b) {
    return a.event != b.event ? a.event < b.event : a.total_samples > b.total_samples;
  });
  return all;
}

}  // namespace jitscope
