#include "profile/collector.h"

#include <fmt/format.h>

#include <algorithm>

namespace jitscope {
namespace {

// perf_event.h: PERF_TYPE_SOFTWARE with the clock events counts nanoseconds.
bool counts_nanoseconds(const perfdata::EventInfo& event) {
  constexpr uint32_t software = 1;
  return event.type == software && event.config <= 1;
}

uint64_t weight_of(const perfdata::Sample& sample, const perfdata::Header& header) {
  if (sample.period != 0) return sample.period;
  if (sample.event >= header.events.size()) return 1;
  const perfdata::EventInfo& event = header.events[sample.event];
  return event.frequency || event.sample_period == 0 ? 1 : event.sample_period;
}

}  // namespace

uint32_t Collector::group_of(ThreadState& thread) {
  if (thread.group != UINT32_MAX) return thread.group;
  const auto [it, fresh] = groups_.try_emplace({thread.pid, thread.tid, thread.comm},
                                               static_cast<uint32_t>(profile_.groups.size()));
  if (fresh) {
    const std::string comm = thread.comm.empty() ? fmt::format(":{}", thread.tid) : thread.comm;
    const std::string& process = thread.process->comm;
    profile_.groups.push_back({thread.pid, thread.tid, comm, process.empty() ? comm : process});
  }
  thread.group = it->second;
  return thread.group;
}

StackId Collector::node_of(StackId parent, LocationId location) {
  const Location& place = session_.location(location);
  parent = tree_.child(parent, place.frame);
  if (place.inlined == 0) return parent;
  // Innermost first, as they are kept.
  const std::vector<FrameId>& inlined = session_.resolver().inlined(place);
  for (size_t i = inlined.size(); i-- > 0;) parent = tree_.child(parent, inlined[i]);
  return parent;
}

bool Collector::on_sample(const ResolvedSample& sample) {
  ThreadState& thread = sample.thread;
  const size_t depth = sample.stack.size();
  size_t known = std::min(sample.shared, thread.nodes.size());
  thread.nodes.resize(depth);
  StackId stack = known == 0 ? kRootStack : thread.nodes[known - 1];
  for (; known < depth; ++known) {
    stack = node_of(stack, sample.stack[known]);
    thread.nodes[known] = stack;
  }
  const uint32_t group = group_of(thread);
  const uint64_t weight = weight_of(sample.sample, session_.header());
  // Events are few: a group's numbers are spread by them.
  const uint32_t event = std::min<uint32_t>(sample.sample.event, 255);
  uint32_t& index = weights_(stack, group * 256U + event);
  if (index == PairTable::kNone) {
    index = static_cast<uint32_t>(profile_.stacks.size());
    profile_.stacks.push_back({event, group, stack, 0, 0});
  }
  StackWeight& entry = profile_.stacks[index];
  ++entry.samples;
  entry.weight += weight;
  if (options_.timeline) {
    profile_.timeline.push_back(
        {sample.sample.head.time, group, event, stack, weight, sample.sample.head.cpu});
  }
  return true;
}

Profile Collector::take() {
  const perfdata::Header& header = session_.header();
  for (const perfdata::EventInfo& event : header.events) {
    profile_.events.push_back({event.name, counts_nanoseconds(event) ? "nanoseconds" : "count"});
  }
  if (profile_.events.empty()) profile_.events.push_back({"samples", "count"});
  profile_.nodes = tree_.take();
  profile_.frames = session_.resolver().frames().take();
  profile_.samples = session_.samples();
  profile_.lost = session_.lost();
  profile_.first_time = session_.first_time();
  profile_.last_time = session_.last_time();
  profile_.hostname = header.hostname;
  for (const std::string& word : header.command_line) {
    if (!profile_.command.empty()) profile_.command += ' ';
    profile_.command += word;
  }
  return std::move(profile_);
}

}  // namespace jitscope
