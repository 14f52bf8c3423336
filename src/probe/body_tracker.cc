#include "probe/body_tracker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

namespace jitscope {
namespace {

constexpr uint64_t millisecond = 1'000'000;
// Looks that nothing asks for. Where new bodies are announced they find what could not be dealt
// with before, and are seldom when there is nothing of that kind. Else they find new bodies, within
// a second while the process works.
constexpr uint64_t period_with_findings = 2000 * millisecond;
constexpr uint64_t period_with_events = 15'000 * millisecond;
constexpr uint64_t period_without_events = 400 * millisecond;
// Not even when the process seems to do nothing.
constexpr uint64_t longest_with_events = 30'000 * millisecond;
constexpr uint64_t longest_without_events = 3000 * millisecond;
// How often due() is asked where nothing wakes the caller: often after something happened.
constexpr BackOff::Limits pauses{10 * millisecond, 250 * millisecond, 1};
constexpr BackOff::Limits map_pauses{2 * millisecond, 250 * millisecond, 1};
// Bursts of load events are answered by one look.
constexpr uint64_t shortest_period = 5 * millisecond;
// A load event may come this much after its body was published. A perf map is written before the
// code is used.
constexpr uint64_t latest_event = 50 * millisecond;
constexpr unsigned most_retries = 50;

}  // namespace

bool entered_by_calls(const CodeBody& body) {
  return !body.osr && body.tier != Tier::stub && body.tier != Tier::bytecode &&
         body.state != BodyState::not_entrant && body.state != BodyState::dead;
}

BodyTracker::BodyTracker(const Process& process, CodeSource& source, MethodSet methods)
    : process_(process),
      source_(source),
      methods_(std::move(methods)),
      events_(pauses, monotonic_ns()) {}

Status BodyTracker::start(std::vector<std::string>& notes) {
  // Listen first, look second: a body that is published in between is found by one of the two.
  const std::string file = source_.load_probe_file();
  if (!file.empty()) {
    auto watch = LoadWatch::open(process_, file);
    if (watch) {
      watch_ = std::move(*watch);
    } else {
      notes.push_back(fmt::format("new bodies are found by looking every {} ms: {}",
                                  period_without_events / millisecond, to_string(watch.error())));
    }
  }
  if (const std::string map = source_.map_file(); !map.empty()) {
    auto map_watch = MapWatch::open(process_, map);
    if (map_watch) {
      map_watch_ = std::move(*map_watch);
    } else {
      notes.push_back(fmt::format("new bodies are found by looking every {} ms: {}",
                                  period_without_events / millisecond,
                                  to_string(map_watch.error())));
    }
  }
  const uint64_t began = monotonic_ns();
  JITSCOPE_ASSIGN(snapshot_, source_.read());
  last_look_ns_ = began;
  work_.looked(cpu_time_of(process_.pid()));
  look_cost_ns_ = monotonic_ns() - began;
  fresh_ = true;
  std::vector<std::shared_ptr<const MethodName>> loaded;
  if (source_.knows_loaded_methods()) {
    auto names = source_.loaded_methods();
    if (names) {
      loaded = std::move(*names);
    } else {
      notes.push_back("methods that are not compiled yet are not known: " +
                      to_string(names.error()));
    }
  }
  JITSCOPE_TRY(methods_.select(snapshot_, loaded));
  for (const std::string& text : methods_.unmatched()) notes.push_back(text);
  for (const std::string& text : methods_.remarks()) notes.push_back(text);
  return {};
}

void BodyTracker::only_watched() {
  source_.only(
      [patterns = std::vector<Pattern>(methods_.patterns().begin(), methods_.patterns().end())](
          const MethodName& name) {
        return std::ranges::any_of(patterns,
                                   [&](const Pattern& pattern) { return pattern.matches(name); });
      });
}

std::chrono::milliseconds BodyTracker::shortest_pause() const {
  return std::chrono::milliseconds((map_watch_ ? map_pauses : pauses).shortest_ns / millisecond);
}

std::chrono::milliseconds BodyTracker::pause() const {
  if (soon_) return shortest_pause();
  const uint64_t pause = events_.pause(monotonic_ns(), map_watch_ ? map_pauses : pauses);
  return std::chrono::milliseconds(pause / millisecond);
}

std::vector<int> BodyTracker::wake_fds() const {
  std::vector<int> fds;
  if (watch_) fds.push_back(watch_->wake_fd());
  if (map_watch_) fds.push_back(map_watch_->wake_fd());
  return fds;
}

bool BodyTracker::due() {
  bool wanted = soon_;
  const uint64_t now = monotonic_ns();
  if (map_watch_ && map_watch_->changed()) {
    wanted = true;
    events_.happened(now);
  }
  if (watch_) {
    wanted |= watch_->poll([&](const LoadEvent& event) {
      events_.happened(now);
      if (wanted || !methods_.may_match(event.class_name, event.method)) return;
      wanted = true;
      quiet_until_ns_ = std::max(quiet_until_ns_, event.time_ns - latest_event);
    });
  }
  soon_ = wanted;
  if (!wanted && map_watch_ && map_watch_->complete()) quiet_until_ns_ = now;
  if (!wanted && watch_) quiet_until_ns_ = now - latest_event;
  const uint64_t since = monotonic_ns() - last_look_ns_;
  // Under constant compilation a look every time would keep a CPU busy: at most half of one.
  if (wanted) {
    return since >= std::clamp(look_cost_ns_, shortest_period, period_without_events);
  }
  const bool announced = watch_ || (map_watch_ && map_watch_->complete());
  const uint64_t period = offered_ || found_ ? period_with_findings : period_with_events;
  if (since < (announced ? period : period_without_events)) return false;
  // What stands in its way may be another program's, and passes without the process's doing.
  if (offered_) return true;
  if (since >= (announced ? longest_with_events : longest_without_events)) return true;
  return work_.worth(cpu_time_of(process_.pid()), look_cost_ns_);
}

Result<BodyTracker::Change> BodyTracker::look() {
  uint64_t began = last_look_ns_;
  if (!fresh_) {
    // Before, for when it fails: a source that cannot be read is not asked without a pause.
    began = last_look_ns_ = monotonic_ns();
    const auto worked = cpu_time_of(process_.pid());
    ++looks_;
    auto snapshot = source_.read();
    if (!snapshot) {
      offered_ = true;
      return fail(std::move(snapshot.error()));
    }
    snapshot_ = std::move(*snapshot);
    look_cost_ns_ = monotonic_ns() - began;
    work_.looked(worked);
  }
  // What came without being announced may have come at any time since the last look.
  const uint64_t not_before =
      soon_ ? std::max(complete_look_ns_, quiet_until_ns_) : complete_look_ns_;
  complete_look_ns_ = began;
  fresh_ = false;
  last_look_ns_ = monotonic_ns();
  soon_ = false;
  offered_ = false;
  Change change;
  std::map<Key, size_t> alive;
  alive_.assign(methods_.size(), 0);
  for (const CodeBody& body : snapshot_.bodies) {
    if (!entered_by_calls(body)) continue;
    const size_t method = methods_.index_of(body);
    if (method == MethodSet::npos) continue;
    if (method >= alive_.size()) alive_.resize(method + 1, 0);
    ++alive_[method];
    // What keeps a body from being probed may pass ("not installed yet"): it is offered again.
    if (body.not_probeable.empty()) alive.emplace(key_of(body), method);
    if (!known_.contains(key_of(body))) change.appeared.push_back({body, method, not_before});
  }
  for (const auto& [key, method] : known_) {
    if (!alive.contains(key)) change.gone.push_back(key);
  }
  known_ = std::move(alive);
  found_ = !change.appeared.empty() || !change.gone.empty();
  std::erase_if(retries_, [&](const auto& entry) { return !known_.contains(entry.first); });
  return change;
}

void BodyTracker::offer_again(const CodeBody& body) {
  known_.erase(key_of(body));
  offered_ = true;
}

void BodyTracker::retry(const CodeBody& body) {
  if (++retries_[key_of(body)] > most_retries) return;
  offer_again(body);
  soon_ = true;
}

uint64_t BodyTracker::alive(size_t method) const {
  return method < alive_.size() ? alive_[method] : 0;
}

}  // namespace jitscope
