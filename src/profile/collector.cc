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

// In frame_of_: not looked at yet; has inlined frames.
constexpr FrameId kUnknown = UINT32_MAX;
constexpr FrameId kInlined = UINT32_MAX - 1;
// Events are few: a group's numbers are spread by them.
constexpr uint32_t kMostEvents = 256;

}  // namespace

uint64_t weight_of(const perfdata::Sample& sample, const perfdata::Header& header) {
  if (sample.period != 0) return sample.period;
  if (sample.event >= header.events.size()) return 1;
  const perfdata::EventInfo& event = header.events[sample.event];
  return event.frequency || event.sample_period == 0 ? 1 : event.sample_period;
}

uint32_t Collector::group_of(SampledThread& thread) {
  if (thread.group != UINT32_MAX) return thread.group;
  const auto [it, fresh] = groups_.try_emplace({thread.pid, thread.tid, thread.comm},
                                               static_cast<uint32_t>(profile_.groups.size()));
  if (fresh) {
    const std::string comm = thread.comm.empty() ? fmt::format(":{}", thread.tid) : thread.comm;
    const std::string& process = thread.process;
    profile_.groups.push_back({thread.pid, thread.tid, comm, process.empty() ? comm : process});
  }
  thread.group = it->second;
  return thread.group;
}

uint32_t Collector::group_of_cpu(uint32_t group, uint32_t cpu) {
  const auto [it, fresh] =
      cpu_groups_.try_emplace(std::pair(group, cpu), static_cast<uint32_t>(profile_.groups.size()));
  if (fresh) {
    profile_.groups.push_back(Group(profile_.groups[group]));
    profile_.groups.back().cpu = cpu;
  }
  return it->second;
}

Collector::Last& Collector::last_of(const SampledThread& thread) {
  if (thread.slot >= last_.size()) last_.resize(thread.slot + size_t{1});
  return last_[thread.slot];
}

void Collector::append_inlined(const Location& location) {
  frames_.push_back(location.frame);
  // Innermost first, as they are kept.
  const std::vector<FrameId>& inlined = session_.resolver().inlined(location);
  frames_.insert(frames_.end(), inlined.rbegin(), inlined.rend());
}

bool Collector::append_frames(std::span<const LocationId> stack) {
  bool plain = true;
  for (const LocationId id : stack) {
    FrameId frame = id < frame_of_.size() ? frame_of_[id] : kUnknown;
    if (frame >= kInlined) [[unlikely]] {
      if (id >= frame_of_.size())
        frame_of_.resize(std::max<size_t>(id + 1, session_.location_count()), kUnknown);
      const Location location = session_.location(id);
      frame = location.inlined == 0 ? location.frame : kInlined;
      frame_of_[id] = frame;
      if (frame == kInlined) {
        append_inlined(location);
        plain = false;
        continue;
      }
    }
    frames_.push_back(frame);
  }
  return plain;
}

bool Collector::on_sample(const ResolvedSample& sample) {
  Last& last = last_of(sample.thread);
  last.valid = std::min(last.valid, sample.shared);
  Pending pending;
  pending.slot = sample.thread.slot;
  pending.depth = static_cast<uint32_t>(last.valid);
  if (last.valid != 0) pending.start = last.path[last.valid - 1];
  tree_.prefetch(pending.start);
  pending.begin = frames_.size();
  last.plain = append_frames(sample.stack.subspan(last.valid));
  pending.end = frames_.size();
  const uint32_t event = std::min(sample.sample.event, kMostEvents - 1);
  uint32_t group = group_of(sample.thread);
  if (options_.by_cpu) group = group_of_cpu(group, sample.sample.head.cpu);
  pending.key = group * kMostEvents + event;
  pending.weight = weight_of(sample.sample, session_.header());
  pending.time = sample.sample.head.time;
  pending.cpu = sample.sample.head.cpu;
  pending_.push_back(pending);
  if (pending_.size() == StackTree::kBatch) flush();
  return true;
}

void Collector::flush() {
  walks_.clear();
  for (const Pending& pending : pending_) {
    walks_.push_back({std::span(frames_).subspan(pending.begin, pending.end - pending.begin),
                      pending.start, nullptr, kRootStack});
  }
  // The last stack of each thread leaves its nodes.
  for (size_t i = pending_.size(); i-- > 0;) {
    Last& last = last_[pending_[i].slot];
    if (last.taken) continue;
    last.taken = true;
    last.path.resize(pending_[i].depth + walks_[i].frames.size());
    walks_[i].path = last.path.data() + pending_[i].depth;
  }
  tree_.add(walks_);
  for (size_t i = pending_.size(); i-- > 0;) {
    Last& last = last_[pending_[i].slot];
    if (!last.taken) continue;
    last.taken = false;
    // With inlined frames, frames and locations do not count alike.
    last.valid = last.plain ? last.path.size() : 0;
  }
  add_weights();
  pending_.clear();
  frames_.clear();
}

void Collector::add_weights() {
  weight_of_.grow_to(tree_.size());
  for (const StackTree::Walk& walk : walks_) __builtin_prefetch(&weight_of_[walk.node]);
  for (const StackTree::Walk& walk : walks_) {
    const uint32_t first = weight_of_[walk.node];
    if (first != 0) __builtin_prefetch(&weights_[first - 1]);
  }
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Pending& pending = pending_[i];
    const StackId stack = walks_[i].node;
    Weight& entry = weights_[weight_number(stack, pending.key)];
    ++entry.samples;
    entry.weight += pending.weight;
    if (options_.timeline) {
      profile_.timeline.push_back({pending.time, pending.key / kMostEvents,
                                   pending.key % kMostEvents, stack, pending.weight, pending.cpu});
    }
  }
}

uint32_t Collector::weight_number(StackId stack, uint32_t key) {
  const auto fresh = static_cast<uint32_t>(weights_.size());
  uint32_t* link = &weight_of_[stack];
  for (unsigned looks = 0; *link != 0; ++looks) {
    Weight& known = weights_[*link - 1];
    if (known.key == key) return *link - 1;
    link = &known.next;
    if (looks == kMostLooks) {
      uint32_t& far = far_weights_(stack, key);
      if (far != PairTable::kNone) return far;
      far = fresh;
      weights_.push_back({key, stack, 0, 0, 0});
      return fresh;
    }
  }
  *link = fresh + 1;
  weights_.push_back({key, stack, 0, 0, 0});
  return fresh;
}

void describe(Profile& profile, const Session& session) {
  const perfdata::Header& header = session.header();
  for (const perfdata::EventInfo& event : header.events) {
    profile.events.push_back({event.name, counts_nanoseconds(event) ? "nanoseconds" : "count"});
  }
  if (profile.events.empty()) profile.events.push_back({"samples", "count"});
  profile.samples = session.samples();
  profile.lost = session.lost();
  profile.first_time = session.first_time();
  profile.last_time = session.last_time();
  profile.hostname = header.hostname;
  for (const std::string& word : header.command_line) {
    if (!profile.command.empty()) profile.command += ' ';
    profile.command += word;
  }
}

Profile Collector::take() {
  flush();
  describe(profile_, session_);
  profile_.stacks.reserve(weights_.size());
  for (const Weight& each : weights_) {
    profile_.stacks.push_back(
        {each.key % kMostEvents, each.key / kMostEvents, each.stack, each.samples, each.weight});
  }
  weights_ = {};
  weight_of_ = {};
  profile_.nodes = tree_.take();
  profile_.frames = session_.resolver().frames().take();
  return std::move(profile_);
}

}  // namespace jitscope
