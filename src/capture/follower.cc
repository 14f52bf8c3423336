// When to look; see follower.h. What a look does is in followed_process.cc.
#include "capture/follower.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/work_limit.h"

namespace jitscope {
namespace {

constexpr uint64_t kShortestInterval = 20 * kMillisecond;
constexpr uint64_t kLongestInterval = 2000 * kMillisecond;
// While a process does nothing it is asked so often what it has done, and read now and then all the
// same.
constexpr BackOff::Limits kChecks{kShortestInterval, 125 * kMillisecond, 4};
constexpr uint64_t kLongestQuiet = 10'000 * kMillisecond;
// Of one CPU, while looks find little; and what each body adds that they find.
constexpr double kCalmShare = 0.004;
constexpr uint64_t kWorthOfABody = kMillisecond / 20;
constexpr uint64_t kStarting = 10'000 * kMillisecond;
constexpr uint64_t kVeryMany = 1U << 20U;
// A process without a source: asked often at first (a JVM that is starting), then seldom.
constexpr uint64_t kFirstPause = 10 * kMillisecond;
constexpr uint64_t kLongestPause = 4000 * kMillisecond;
// A look at a JVM with 20,000 methods takes 50 ms; the first one at a perf map of a million lines
// two seconds.
constexpr std::chrono::milliseconds kLongestFirstLook{3000};
constexpr std::chrono::milliseconds kLongestLook{500};
constexpr std::chrono::milliseconds kLongestLastLook{1000};
constexpr std::chrono::milliseconds kLongestEnd{5000};  // of the last looks together

}  // namespace

void Follower::end(Entry& entry) {
  entry.process->finish();
  FollowedSummary summary = entry.process->summary();
  if (summary.jit || entry.wanted) ended_.push_back(std::move(summary));
}

void Follower::called_exec(pid_t pid, uint64_t time) {
  const auto known = entries_.find(pid);
  if (known == entries_.end()) return;
  known->second.process->called_exec(time);
  if (known->second.process->state() == FollowedProcess::State::ended) return;
  known->second.due = known->second.looked = 0;
}

void Follower::add(pid_t pid, bool wanted, uint64_t since) {
  const auto known = entries_.find(pid);
  if (known != entries_.end()) {
    Entry& entry = known->second;
    if (entry.process->state() == FollowedProcess::State::searching) {
      entry.pause = kFirstPause;
      entry.due = 0;
      return;
    }
    if (entry.process->state() != FollowedProcess::State::ended) return;
    // The pid may have been given to another process.
    end(entry);
    entries_.erase(known);
  }
  if (entries_.size() >= kMostProcesses) {
    ++report_.not_followed;
    return;
  }
  auto process = Process::open(pid);
  if (!process) {
    if (process.error().kind == ErrorKind::not_found ||
        process.error().kind == ErrorKind::target_gone) {
      return;  // it has ended
    }
    FollowedSummary summary;
    summary.pid = pid;
    summary.reason = process.error().what;
    summary.hint = process.error().hint;
    ended_.push_back(std::move(summary));
    return;
  }
  Entry entry(LookPacer({.shortest_ns = kShortestInterval,
                         .longest_ns = kLongestInterval,
                         .share = options_.cpu_share,
                         .calm_share = kCalmShare,
                         .worth_ns = kWorthOfABody}),
              BackOff(kChecks, monotonic_ns()));
  std::string path = FollowedProcess::path_in(options_.folder, *process);
  entry.process =
      std::make_unique<FollowedProcess>(std::move(*process), std::move(path), options_.source,
                                        options_.begin, DumpForm::recorded, options_.open_folder);
  if (since != 0) entry.process->called_exec(since);
  entry.pause = kFirstPause;
  entry.wanted = wanted;
  entries_.emplace(pid, std::move(entry));
}

size_t Follower::following() const {
  return static_cast<size_t>(std::ranges::count_if(entries_, [](const auto& entry) {
    return entry.second.process->state() == FollowedProcess::State::following;
  }));
}

// What was used since the last time: by a look, and by waking up for it.
uint64_t Follower::account() {
  const uint64_t now = thread_cpu_ns();
  const uint64_t used = accounted_ == 0 ? 0 : now - accounted_;
  accounted_ = now;
  report_.cpu_ns += used;
  return used;
}

void Follower::look(Entry& entry) {
  using State = FollowedProcess::State;
  const bool first = entry.process->state() == State::searching;
  const uint64_t bodies = entry.process->bodies();
  const uint64_t begin = thread_cpu_ns();
  {
    const WorkLimit limit{first ? kLongestFirstLook : kLongestLook, stop_};
    entry.process->look();
  }
  const uint64_t cost = thread_cpu_ns() - begin;
  // What the first look costs tells nothing of the next ones.
  entry.cost = cost;
  entry.usual_cost = first ? 0 : cost;
  if (auto copied = entry.process->take_copied_text(); !copied.empty()) {
    copied_.push_back({entry.process->pid(), std::move(copied)});
  }
  ++report_.looks;
  const uint64_t all = account();
  const uint64_t now = entry.looked = monotonic_ns();
  uint64_t found = entry.process->bodies() - bodies;
  if (found != 0) entry.checks.happened(now);
  switch (entry.process->state()) {
    case State::following: {
      if (first) {
        report_.first_cpu_ns += all;
        // What the first look found is not what the next ones will find.
        entry.due = now + kShortestInterval;
        break;
      }
      // A program that is starting compiles all the time, and may end soon.
      if (now < entry.process->started() + kStarting) found = kVeryMany;
      entry.due = now + entry.pacer.pause_after(now, all, following(), found);
      break;
    }
    case State::searching:
      entry.due = now + std::max(entry.pause, entry.pacer.pause_after(now, all, entries_.size()));
      entry.pause = std::min(entry.pause * 2, kLongestPause);
      break;
    case State::self_dumped:
      entry.due = entry.process->stubs_due();
      break;
    case State::ended:
      entry.due = UINT64_MAX;
      break;
  }
}

uint64_t Follower::step() {
  if (accounted_ == 0) (void)account();
  uint64_t next = UINT64_MAX;
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    if (const uint64_t now = monotonic_ns(); entry.due <= now) {
      if (now - entry.looked >= kLongestQuiet || entry.process->may_have_news(entry.usual_cost)) {
        look(entry);
      } else {
        entry.due = now + entry.checks.pause(now);
      }
    }
    if (entry.process->state() == FollowedProcess::State::ended) {
      end(entry);
      it = entries_.erase(it);
      continue;
    }
    next = std::min(next, entry.due);
    ++it;
  }
  return next;
}

FollowReport Follower::finish() {
  if (accounted_ == 0) (void)account();
  std::vector<Entry*> order;
  for (auto& [pid, entry] : entries_) order.push_back(&entry);
  // Who is slow to read comes last, and does not take the time of the others.
  std::ranges::stable_sort(order, {}, [](const Entry* entry) { return entry->cost; });
  const WorkLimit all{kLongestEnd};
  for (Entry* entry : order) {
    const WorkLimit limit{kLongestLastLook};
    entry->process->look();
    ++report_.looks;
  }
  for (auto& [pid, entry] : entries_) end(entry);
  entries_.clear();
  (void)account();
  report_.processes = std::move(ended_);
  return std::move(report_);
}

FollowerThread::FollowerThread(FollowOptions options)
    : follower_(std::move(options), [this] { return ending_.load(); }) {
  const BlockedSignals blocked;
  thread_ = std::thread([this] { run(); });
}

FollowerThread::~FollowerThread() {
  if (thread_.joinable()) (void)finish();
}

void FollowerThread::ask(const Asked& asked) {
  const std::lock_guard lock(mutex_);
  inbox_.push_back(asked);
  changed_.notify_one();
}

void FollowerThread::add(pid_t pid, bool wanted, uint64_t since) {
  ask({pid, wanted, false, since});
}

void FollowerThread::called_exec(pid_t pid, uint64_t time) {
  ask({pid, false, true, time});
}

void FollowerThread::take(const std::vector<Asked>& added) {
  for (const Asked& each : added) {
    if (each.exec) {
      follower_.called_exec(each.pid, each.since);
    } else {
      follower_.add(each.pid, each.wanted, each.since);
    }
  }
}

size_t FollowerThread::following() const {
  const std::lock_guard lock(mutex_);
  return following_;
}

std::vector<CopiedText> FollowerThread::take_copied_text() {
  const std::lock_guard lock(mutex_);
  return std::exchange(copied_, {});
}

FollowReport FollowerThread::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_one();
  }
  thread_.join();
  return std::move(report_);
}

void FollowerThread::run() {
  std::vector<Asked> added;
  std::unique_lock lock(mutex_);
  while (!ending_) {
    added.swap(inbox_);
    lock.unlock();
    take(added);
    added.clear();
    const uint64_t next = follower_.step();
    const uint64_t now = monotonic_ns();
    lock.lock();
    std::ranges::move(follower_.take_copied_text(), std::back_inserter(copied_));
    following_ = follower_.following();
    const auto woken = [&] { return ending_ || !inbox_.empty(); };
    if (next == UINT64_MAX) {
      changed_.wait(lock, woken);
    } else if (next > now) {
      changed_.wait_for(lock, std::chrono::nanoseconds(next - now), woken);
    }
  }
  added.swap(inbox_);
  lock.unlock();
  take(added);
  report_ = follower_.finish();
}

}  // namespace jitscope
