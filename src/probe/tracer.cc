// The tracer: tracker (which bodies) -> placers (where) -> hit sources (calls) -> report. It knows
// no backend by name.

#include "probe/tracer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/work_limit.h"
#include "probe/backend_choice.h"
#include "probe/body_tracker.h"
#include "probe/never_compiled.h"
#include "probe/placers.h"
#include "probe/trace_site.h"
#include "probe/trace_sites.h"
#include "probe/undo.h"
#include "process/word_size.h"
#include "runtimes/detect.h"
#include "runtimes/machine.h"

namespace jitscope {
namespace {

// How long another tracer of the target is waited for. While a trace runs, calls come, and what
// could not be placed is tried again soon; when it ends, giving up would leave jumps in the target.
constexpr std::chrono::milliseconds patience_at_start{3000};
constexpr std::chrono::milliseconds patience_between{100};
constexpr std::chrono::milliseconds patience_at_end{10'000};

// How often calls are asked for, without having been told of one.
constexpr BackOff::Limits call_pauses{10'000'000, 250'000'000, 2};
// How often it is made sure that the process is still the same program; where there are
// breakpoints, by what takes a few microseconds, as often as they want it.
constexpr std::chrono::milliseconds identity_period{1000};
constexpr std::chrono::milliseconds shortest_identity_period{100};

constexpr uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<uint64_t>(time.count()) * 1'000'000U;
}

class LiveTracer final : public Tracer {
 public:
  LiveTracer(const Process& process, CodeSource& source, const TraceOptions& options,
             MethodSet methods)
      : process_(process),
        source_(source),
        options_(options),
        tracker_(process, source, std::move(methods)),
        placers_({process,
                  tracker_.snapshot(),
                  {options.events, options.stacks, options.events_a_second, options.every}}),
        sites_(process, source, options_.backends, tracker_, placers_),
        calls_(call_pauses, monotonic_ns()) {}

  ~LiveTracer() override {
    if (!finished_) (void)finish({});
  }

  Status begin();

  [[nodiscard]] const TraceStart& started() const override { return start_; }
  [[nodiscard]] const MethodSet& methods() const override { return tracker_.methods(); }
  [[nodiscard]] uint64_t calls() const override;
  [[nodiscard]] const Snapshot& snapshot() const override { return tracker_.snapshot(); }
  Result<bool> step(std::chrono::milliseconds wait,
                    const std::function<void(const TracedCall&)>& on_call) override;
  TraceReport finish(const std::function<void(const TracedCall&)>& on_call) override;

 private:
  Status take(BodyTracker::Change change);
  Status describe_start();
  void add_note(std::string text);
  [[nodiscard]] bool target_gone();
  Result<size_t> poll_hits(std::chrono::milliseconds wait,
                           const std::function<void(const TracedCall&)>& on_call);
  Result<size_t> wait_for_hits(std::chrono::milliseconds wait,
                               const std::function<void(const TracedCall&)>& on_call);
  [[nodiscard]] std::function<void(const Hit&)> hit_handler(
      const std::function<void(const TracedCall&)>& on_call) const;
  void withdraw(TraceReport& report);
  void end_hits(const std::function<void(const TracedCall&)>& on_call);
  [[nodiscard]] std::vector<Pattern> unmatched_patterns() const;
  MethodReport report_method(size_t method) const;

  const Process& process_;
  CodeSource& source_;
  TraceOptions options_;
  BodyTracker tracker_;
  Placers placers_;
  TraceSites sites_;
  TraceStart start_;
  RuntimeInfo runtime_;
  BackOff calls_;  // that came
  bool woken_ = false;
  uint64_t last_quick_check_ns_ = 0;
  uint64_t last_identity_check_ns_ = 0;
  bool asked_again_ = false;
  bool gone_ = false;
  bool finished_ = false;
};

Status LiveTracer::begin() {
  placers_.set_patience(options_.waiting.while_placing(patience_at_start));
  JITSCOPE_TRY(check_64_bit(process_));
  if (options_.runtime) {
    runtime_ = *options_.runtime;
  } else {
    JITSCOPE_ASSIGN(runtime_, detect_runtime(process_));
  }
  JITSCOPE_TRY(check_machine(process_, runtime_));
  JITSCOPE_ASSIGN(BackendChoice choice,
                  choose_backend(options_.backend, options_.backends, process_, source_));
  const Backend& backend = *choice.backend;
  sites_.begin(std::move(choice));
  JITSCOPE_TRY(tracker_.start(start_.notes));
  // Callers are named by the bodies that are known.
  if (!options_.stacks) tracker_.only_watched();
  JITSCOPE_ASSIGN(BodyTracker::Change change, tracker_.look());
  if (change.appeared.empty()) JITSCOPE_TRY(check_compiles(process_, runtime_));
  JITSCOPE_TRY(check_number(backend, sites_.of_choice(change.appeared), source_));
  JITSCOPE_TRY(placers_.of(backend));
  JITSCOPE_TRY(take(std::move(change)));
  return describe_start();
}

Status LiveTracer::describe_start() {
  start_.methods = tracker_.methods().size();
  for (size_t i = 0; i < start_.methods; ++i) start_.bodies += tracker_.alive(i);
  for (const Backend* backend : options_.backends) {
    const auto sites =
        static_cast<size_t>(std::ranges::count_if(sites_.all(), [&](const TraceSite& site) {
          return site.placed && site.backend == backend;
        }));
    if (sites != 0) start_.sites_by.emplace_back(backend->name, sites);
    start_.sites += sites;
  }
  std::vector<std::string> refused = refusals(sites_.all());
  const bool none = start_.sites == 0 && !refused.empty() && !tracker_.retries();
  std::ranges::move(refused, std::back_inserter(start_.notes));
  if (none) {
    return fail(ErrorKind::not_possible, "no body of these methods could be probed", {},
                fmt::format("{}", fmt::join(start_.notes, "; ")));
  }
  std::ranges::move(placers_.remarks(), std::back_inserter(start_.notes));
  start_.backend = sites_.choice().backend->name;
  start_.backend_reason = sites_.choice().reason;
  // Where the code lies decided otherwise for all of them.
  if (start_.sites_by.size() == 1 && sites_.choice().automatic &&
      start_.sites_by.front().first != start_.backend) {
    const Backend* const used = find_backend(start_.sites_by.front().first);
    const bool files = used != nullptr && used->takes == TakesCode::of_files;
    if (files || sites_.choice().backend->takes == TakesCode::of_files) {
      start_.backend = start_.sites_by.front().first;
      start_.backend_reason =
          files ? "the code is mapped from files" : "the code lies in memory and does not move";
    }
  }
  start_.stopped = placers_.stops().stopped;
  return {};
}

Status LiveTracer::take(BodyTracker::Change change) {
  Status status = sites_.take(std::move(change));
  for (std::string& note : sites_.take_notes()) add_note(std::move(note));
  return status;
}

void LiveTracer::add_note(std::string text) {
  if (std::ranges::find(start_.notes, text) == start_.notes.end()) {
    start_.notes.push_back(std::move(text));
  }
}

bool LiveTracer::target_gone() {
  if (gone_) return true;
  pollfd handle = {process_.pidfd(), POLLIN, 0};
  if (process_.pidfd() >= 0 && ::poll(&handle, 1, 0) > 0) gone_ = true;
  const auto period =
      std::clamp(placers_.longest_pause(), shortest_identity_period, identity_period);
  const uint64_t now = monotonic_ns();
  if (gone_ || now - last_quick_check_ns_ < nanoseconds(period)) return gone_;
  last_quick_check_ns_ = now;
  if (now - last_identity_check_ns_ >= nanoseconds(identity_period)) {
    last_identity_check_ns_ = now;
    gone_ = !process_.check_same().has_value();
  } else {
    gone_ = !process_.same_address_space();
  }
  return gone_;
}

Result<size_t> LiveTracer::poll_hits(std::chrono::milliseconds wait,
                                     const std::function<void(const TracedCall&)>& on_call) {
  return placers_.poll(wait, hit_handler(on_call));
}

std::function<void(const Hit&)> LiveTracer::hit_handler(
    const std::function<void(const TracedCall&)>& on_call) const {
  return [&](const Hit& hit) {
    if (!on_call || hit.site >= sites_.all().size()) return;
    const TraceSite& site = sites_.all()[hit.site];
    on_call({site.method, &site.body, hit});
  };
}

// Mostly nothing happens: then this thread sleeps until the kernel tells of something. It is not
// woken twice in a row without a pause, so that nobody keeps it busy by waking it.
Result<size_t> LiveTracer::wait_for_hits(std::chrono::milliseconds wait,
                                         const std::function<void(const TracedCall&)>& on_call) {
  using std::chrono::milliseconds;
  const milliseconds shortest = tracker_.shortest_pause();
  wait = std::min({wait, tracker_.pause(), placers_.longest_pause(),
                   milliseconds(calls_.pause(monotonic_ns()) / 1'000'000)});
  const bool sleeps = wait > shortest && !woken_;
  woken_ = false;
  if (!sleeps) return poll_hits(std::min(wait, shortest), on_call);
  std::vector<int> others = tracker_.wake_fds();
  others.push_back(process_.pidfd());
  others.push_back(options_.waiting.wake_fd);
  const uint64_t began = monotonic_ns();
  auto handed = placers_.sleep(wait, others, hit_handler(on_call));
  woken_ = monotonic_ns() - began < nanoseconds(wait);
  return handed;
}

Result<bool> LiveTracer::step(std::chrono::milliseconds wait,
                              const std::function<void(const TracedCall&)>& on_call) {
  JITSCOPE_ASSIGN(const size_t handed, wait_for_hits(wait, on_call));
  if (handed != 0) calls_.happened(monotonic_ns());
  if (target_gone()) return false;
  sites_.look_for_lost();
  if (!tracker_.due()) return true;
  // Once more: a JVM that was just starting did not have its options yet.
  if (sites_.all().empty() && !std::exchange(asked_again_, true))
    JITSCOPE_TRY(check_compiles(process_, runtime_));
  placers_.set_patience(options_.waiting.while_placing(patience_between));
  auto change = tracker_.look();
  Status status = change ? take(std::move(*change)) : Status(fail(std::move(change.error())));
  if (!status) {
    // An error while the target dies is not news; any other leaves the sites that are there at
    // work.
    last_quick_check_ns_ = last_identity_check_ns_ = 0;
    if (status.error().kind == ErrorKind::target_gone || target_gone()) {
      gone_ = true;
      return false;
    }
    // That the process was held is of interest only for bodies that could not be placed, and these
    // have it as their reason.
    if (held_by_tracer(status.error())) return true;
    add_note(to_string(status.error()));
  }
  return true;
}

uint64_t LiveTracer::calls() const {
  uint64_t all = 0;
  for (const TraceSite& site : sites_.all()) {
    if (site.placed) all += site.placer->hits().counts(site.id).calls;
  }
  return all;
}

MethodReport LiveTracer::report_method(size_t method) const {
  MethodReport report;
  report.method = tracker_.methods().display(method);
  report.raw = tracker_.methods().name(method).raw;
  bool v8_stack = false;
  for (const TraceSite& site : sites_.all()) {
    if (site.method != method) continue;
    add_site(report, site, site.placed ? site.placer->hits().counts(site.id) : HitCounts{});
    v8_stack |= site.body.convention == CallConvention::v8_x86_64;
  }
  report.bodies_alive = tracker_.alive(method);
  report.interpreted_only = report.bodies_alive == 0 && source_.knows_loaded_methods();
  const bool images = source_.kind() == SourceKind::mapped_image;
  if (!images) report.not_seen.emplace_back("interpreted calls");
  report.not_seen.emplace_back("calls inlined into other bodies");
  if (images && runtime_.runtime == Runtime::dotnet) {
    report.not_seen.emplace_back("calls of what the JIT compiled, which nothing names");
  }
  if (source_.kind() == SourceKind::hotspot_memory || v8_stack) {
    report.not_seen.emplace_back("calls of a body before it was watched");
  }
  return report;
}

std::vector<Pattern> LiveTracer::unmatched_patterns() const {
  std::vector<Pattern> patterns(methods().patterns().begin(), methods().patterns().end());
  std::erase_if(patterns, [&](const Pattern& pattern) {
    for (size_t i = 0; i < methods().size(); ++i) {
      if (pattern.matches(methods().name(i))) return true;
    }
    return false;
  });
  return patterns;
}

void LiveTracer::withdraw(TraceReport& report) {
  Placers::Withdrawn all = placers_.withdraw();
  report.entries_restored += all.restored;
  report.left_because.reset();
  report.entries_left = 0;
  if (!all.failure) return;
  if (all.failure->kind == ErrorKind::target_gone || target_gone()) {
    report.target_gone = true;
  } else {
    report.left_because = std::move(all.failure);
    report.entries_left = all.left;
  }
}

void LiveTracer::end_hits(const std::function<void(const TracedCall&)>& on_call) {
  (void)poll_hits(std::chrono::milliseconds(0), on_call);
  sites_.remove_all();
  (void)poll_hits(std::chrono::milliseconds(0), on_call);
}

TraceReport LiveTracer::finish(const std::function<void(const TracedCall&)>& on_call) {
  finished_ = true;
  TraceReport report;
  last_quick_check_ns_ = last_identity_check_ns_ = 0;
  report.target_gone = target_gone();
  report.looks = tracker_.looks();
  if (!report.target_gone) {
    // Who is alive at the end; nothing is placed any more. What is slow to read does not keep the
    // probes in place.
    const WorkLimit limit{std::chrono::milliseconds(500)};
    sites_.look_for_lost();
    if (auto change = tracker_.look(); change) sites_.retire(change->gone);
  }
  placers_.set_patience(options_.waiting.while_leaving(patience_between));
  if (!report.target_gone) withdraw(report);
  if (!placers_.empty()) {
    end_hits(on_call);
    for (size_t i = 0; i < tracker_.methods().size(); ++i) {
      report.methods.push_back(report_method(i));
    }
  }
  // Nothing is counted any more: the longer wait for another tracer changes no figure.
  if (report.left_because && held_by_tracer(*report.left_because)) {
    placers_.set_patience(options_.waiting.while_leaving(patience_at_end));
    withdraw(report);
  }
  // An image whose jumps could not be undone keeps its file: undo and other tools need it.
  if (!report.left_because) placers_.discard();
  const StopTimes stops = placers_.stops();
  report.stopped = stops.stopped;
  report.longest_stop = stops.longest;
  for (const std::string& note : start_.notes) {
    // What matched nothing at the start may have matched since.
    if (std::ranges::find(methods().unmatched(), note) != methods().unmatched().end()) continue;
    report.notes.push_back(note);
  }
  for (const Pattern& pattern : unmatched_patterns()) {
    report.notes.push_back(fmt::format("no method matched '{}'", pattern.text()));
  }
  if (tracker_.methods().full()) {
    report.notes.push_back(fmt::format(
        "more methods matched while tracing than --max {} allows: those are not counted",
        options_.max_methods));
  }
  return report;
}

}  // namespace

Result<std::unique_ptr<Tracer>> Tracer::start(const Process& process, CodeSource& source,
                                              const TraceOptions& options) {
  JITSCOPE_ASSIGN(auto patterns, parse_patterns(options.patterns));
  auto tracer = std::make_unique<LiveTracer>(process, source, options,
                                             MethodSet(std::move(patterns), options.max_methods));
  if (Status begun = tracer->begin(); !begun) {
    const TraceReport report = tracer->finish({});
    if (report.left_because) {
      if (!begun.error().hint.empty()) begun.error().hint += "; ";
      begun.error().hint += left_text(report.entries_left, process.pid());
    }
    return fail(std::move(begun.error()));
  }
  return tracer;
}

}  // namespace jitscope
