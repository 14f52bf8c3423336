#include "probe/body_tracker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

namespace jitscope {
namespace {

constexpr uint64_t millisecond = 1'000'000;
// A new body must be found within a second: at once by load events, else by looking often enough.
constexpr uint64_t period_with_events = 2000 * millisecond;
constexpr uint64_t period_without_events = 400 * millisecond;
// Bursts of load events are answered by one look.
constexpr uint64_t shortest_period = 5 * millisecond;
constexpr unsigned most_retries = 50;

}  // namespace

bool entered_by_calls(const CodeBody& body) {
  return !body.osr && body.tier != Tier::stub && body.tier != Tier::bytecode &&
         body.state != BodyState::not_entrant && body.state != BodyState::dead;
}

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
  JITSCOPE_ASSIGN(snapshot_, source_.read());
  last_look_ns_ = monotonic_ns();
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
  return {};
}

bool BodyTracker::due() {
  bool wanted = soon_;
  if (watch_) {
    wanted |= watch_->poll([&](const LoadEvent& event) {
      if (!wanted && methods_.may_match(event.class_name, event.method)) wanted = true;
    });
  }
  soon_ = wanted;
  const uint64_t since = monotonic_ns() - last_look_ns_;
  // Under constant compilation a look every time would keep a CPU busy: at most half of one.
  if (wanted) {
    return since >= std::clamp(look_cost_ns_, shortest_period, period_without_events);
  }
  return since >= (watch_ ? period_with_events : period_without_events);
}

Result<BodyTracker::Change> BodyTracker::look() {
  if (!fresh_) {
    // Before, for when it fails: a source that cannot be read is not asked without a pause.
    last_look_ns_ = monotonic_ns();
    JITSCOPE_ASSIGN(snapshot_, source_.read());
    look_cost_ns_ = monotonic_ns() - last_look_ns_;
  }
  fresh_ = false;
  last_look_ns_ = monotonic_ns();
  soon_ = false;
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
    if (!known_.contains(key_of(body))) change.appeared.push_back({body, method});
  }
  for (const auto& [key, method] : known_) {
    if (!alive.contains(key)) change.gone.push_back(key);
  }
  known_ = std::move(alive);
  std::erase_if(retries_, [&](const auto& entry) { return !known_.contains(entry.first); });
  return change;
}

void BodyTracker::offer_again(const CodeBody& body) {
  known_.erase(key_of(body));
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
