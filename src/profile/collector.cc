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

void Collector::append_frames(LocationId id) {
  if (id >= frame_of_.size()) frame_of_.resize(session_.location_count(), kUnknown);
  FrameId& known = frame_of_[id];
  if (known < kInlined) {
    frames_.push_back(known);
    return;
  }
  const Location& location = session_.location(id);
  known = location.inlined == 0 ? location.frame : kInlined;
  frames_.push_back(location.frame);
  if (location.inlined == 0) return;
  // Innermost first, as they are kept.
  const std::vector<FrameId>& inlined = session_.resolver().inlined(location);
  frames_.insert(frames_.end(), inlined.rbegin(), inlined.rend());
}

bool Collector::on_sample(const ResolvedSample& sample) {
  Pending pending;
  pending.begin = frames_.size();
  for (const LocationId location : sample.stack) append_frames(location);
  pending.end = frames_.size();
  const uint32_t event = std::min(sample.sample.event, kMostEvents - 1);
  pending.key = group_of(sample.thread) * kMostEvents + event;
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
    walks_.push_back({std::span(frames_).subspan(pending.begin, pending.end - pending.begin)});
  }
  tree_.add(walks_);
  for (size_t i = 0; i < pending_.size(); ++i) weights_.prefetch(walks_[i].node, pending_[i].key);
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Pending& pending = pending_[i];
    const StackId stack = walks_[i].node;
    const uint32_t group = pending.key / kMostEvents;
    const uint32_t event = pending.key % kMostEvents;
    uint32_t& index = weights_(stack, pending.key);
    if (index == PairTable::kNone) {
      index = static_cast<uint32_t>(profile_.stacks.size());
      profile_.stacks.push_back({event, group, stack, 0, 0});
    }
    StackWeight& entry = profile_.stacks[index];
    ++entry.samples;
    entry.weight += pending.weight;
    if (options_.timeline) {
      profile_.timeline.push_back(
          {pending.time, group, event, stack, pending.weight, pending.cpu});
    }
  }
  pending_.clear();
  frames_.clear();
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
  profile_.nodes = tree_.take();
  profile_.frames = session_.resolver().frames().take();
  return std::move(profile_);
}

}  // namespace jitscope
