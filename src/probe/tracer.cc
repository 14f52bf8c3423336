// The tracer: tracker (which bodies) -> backends (where) -> session (hits) -> report.

#include "probe/tracer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/work_limit.h"
#include "probe/backend_choice.h"
#include "probe/body_tracker.h"
#include "probe/breakpoints.h"
#include "probe/code_range.h"
#include "probe/eligibility.h"
#include "probe/foreign_jump.h"
#include "probe/inplace.h"
#include "probe/never_compiled.h"
#include "probe/register_slots.h"
#include "probe/shared_slots.h"
#include "probe/trace_site.h"
#include "probe/trampolines.h"
#include "probe/undo.h"
#include "probe_shared.h"
#include "process/word_size.h"
#include "runtimes/machine.h"

namespace jitscope {
namespace {

// How long another tracer of the target is waited for. While a trace runs, calls come, and what
// could not be placed is tried again soon; when it ends, giving up would leave jumps in the target.
constexpr std::chrono::milliseconds patience_at_start{3000};
constexpr std::chrono::milliseconds patience_between{100};
constexpr std::chrono::milliseconds patience_at_end{10'000};
constexpr unsigned most_held_looks = 10;  // soon after each other, then at the usual pace
// How often shared slots are looked at: calls between the other's end and our own jump are not
// seen.
constexpr std::chrono::milliseconds shared_pause{10};

class LiveTracer final : public Tracer {
 public:
  LiveTracer(const Process& process, CodeSource& source, const TraceOptions& options,
             MethodSet methods)
      : process_(process),
        source_(source),
        options_(options),
        tracker_(process, source, std::move(methods)),
        trampolines_(process),
        inplace_(process),
        shared_(process) {}

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
  Status place_appeared(std::vector<BodyTracker::Found> appeared);
  Status place(std::vector<TraceSite*> sites, Backend backend);
  void look_at_shared_slots();
  Result<std::vector<SiteOutcome>> place_by(Backend backend, std::span<const SiteRequest> requests);
  void retire(const std::vector<std::pair<uint64_t, uint64_t>>& gone);
  [[nodiscard]] size_t active_breakpoints() const;
  void add_note(std::string text);
  [[nodiscard]] bool target_gone();
  Result<size_t> poll_events(std::chrono::milliseconds wait,
                             const std::function<void(const TracedCall&)>& on_call);
  void be_patient(std::chrono::milliseconds for_tracer, const std::function<bool()>& hurry);
  void withdraw(TraceReport& report);
  void end_session(const std::function<void(const TracedCall&)>& on_call);
  [[nodiscard]] std::vector<Pattern> unmatched_patterns() const;
  MethodReport report_method(size_t method) const;

  const Process& process_;
  CodeSource& source_;
  TraceOptions options_;
  BodyTracker tracker_;
  // The session is declared before the images: sites lose their probes only after their jumps.
  std::unique_ptr<BpfSession> session_;
  Trampolines trampolines_;
  InplacePages inplace_;
  SharedSlots shared_;
  Backend backend_ = Backend::trampoline;
  bool automatic_ = true;
  TraceStart start_;
  std::deque<TraceSite> sites_;
  uint64_t last_identity_check_ns_ = 0;
  unsigned held_looks_ = 0;
  bool asked_again_ = false;
  bool gone_ = false;
  bool finished_ = false;
};

Status LiveTracer::begin() {
  be_patient(patience_at_start, options_.stop_asked);
  JITSCOPE_TRY(check_64_bit(process_));
  JITSCOPE_TRY(check_machine(process_));
  JITSCOPE_ASSIGN(const BackendChoice choice, choose_backend(options_.backend, source_));
  backend_ = choice.backend;
  automatic_ = choice.automatic;
  start_.backend_reason = choice.reason;
  JITSCOPE_TRY(tracker_.start(start_.notes));
  JITSCOPE_ASSIGN(BodyTracker::Change change, tracker_.look());
  if (change.appeared.empty()) JITSCOPE_TRY(check_compiles(process_));
  if (backend_ == Backend::breakpoint) {
    JITSCOPE_TRY(check_breakpoints_suffice(change.appeared.size(), source_));
  }
  BpfSessionOptions session_options;
  session_options.events = options_.events;
  session_options.stacks = options_.stacks;
  session_options.events_a_second = options_.events_a_second;
  session_options.every = options_.every;
  JITSCOPE_ASSIGN(session_, BpfSession::open(process_, session_options));
  JITSCOPE_TRY(take(std::move(change)));

  start_.methods = tracker_.methods().size();
  for (size_t i = 0; i < start_.methods; ++i) start_.bodies += tracker_.alive(i);
  std::map<std::string, size_t> reasons;
  for (const TraceSite& site : sites_) {
    if (site.placed) {
      ++start_.sites;
      ++start_.sites_by[site.backend];
    } else if (!site.reason.empty()) {
      ++reasons[site.reason];
    }
  }
  for (const auto& [reason, count] : reasons) {
    start_.notes.push_back(
        fmt::format("{} bod{} not probed: {}", count, count == 1 ? "y" : "ies", reason));
  }
  if (start_.sites == 0 && !reasons.empty() && !tracker_.retries()) {
    return fail(ErrorKind::not_possible, "no body of these methods could be probed", {},
                fmt::format("{}", fmt::join(start_.notes, "; ")));
  }
  if (std::string remark = trampolines_.remark(); !remark.empty()) {
    start_.notes.push_back(std::move(remark));
  }
  start_.backend = backend_;
  start_.stopped = trampolines_.stopped() + inplace_.stopped();
  return {};
}

size_t LiveTracer::active_breakpoints() const {
  return static_cast<size_t>(std::ranges::count_if(sites_, [](const TraceSite& site) {
    return site.active && site.backend == Backend::breakpoint;
  }));
}

Result<std::vector<SiteOutcome>> LiveTracer::place_by(Backend backend,
                                                      std::span<const SiteRequest> requests) {
  if (backend == Backend::breakpoint) {
    return place_breakpoints(process_, *session_, tracker_.snapshot(), requests,
                             active_breakpoints());
  }
  std::unordered_map<uint32_t, HitCheck> checks;
  for (const SiteRequest& request : requests) {
    checks.emplace(request.id, state_check_of(request.body));
  }
  const auto ready = register_slots(
      *session_, [checks = std::move(checks)](uint32_t id) { return checks.at(id); });
  if (backend == Backend::inplace) return inplace_.place(requests, ready);
  if (!trampolines_.prepared()) {
    JITSCOPE_ASSIGN(const auto maps, process_.maps());
    const auto [low, high] =
        code_range_around(requests.front().body.entry, tracker_.snapshot(), maps);
    JITSCOPE_TRY(trampolines_.prepare(low, high));
  }
  return trampolines_.place(requests, ready);
}

// The other jitscope has ended: what counted in its slots gets one of our own.
void LiveTracer::look_at_shared_slots() {
  if (!shared_.any()) return;  // there may be no session yet
  for (const TraceSite* site : shared_.look(*session_, sites_)) {
    tracker_.offer_again(site->body);
    tracker_.look_soon();
  }
}

Status LiveTracer::place(std::vector<TraceSite*> sites, Backend backend) {
  if (backend == Backend::trampoline) {
    const size_t all = sites.size();
    sites = shared_.share(*session_, sites);
    if (sites.size() != all) {
      add_note(
          "another jitscope has jumps at these entries: calls are counted in its slots, and when "
          "it ends in slots of our own");
    }
    if (sites.empty()) return {};
  }
  std::vector<SiteRequest> requests;
  for (const TraceSite* site : sites) requests.push_back({site->id, site->body, 0});
  Result<std::vector<SiteOutcome>> placed = place_by(backend, requests);
  const bool no_image = !placed && backend == Backend::trampoline && !trampolines_.prepared();
  if (no_image && automatic_ && placed.error().kind == ErrorKind::not_possible &&
      sites.size() <= breakpoint_registers) {
    backend_ = Backend::breakpoint;
    start_.backend_reason = fmt::format("no live image: {}", to_string(placed.error()));
    return place(std::move(sites), Backend::breakpoint);
  }
  if (no_image && placed.error().kind == ErrorKind::not_permitted) {
    placed.error().hint += "; up to 4 bodies can be traced without that: --backend breakpoint";
  }
  if (!placed) {
    // Nothing was patched; while the trace runs these are tried again at the next regular look.
    for (TraceSite* site : sites) {
      session_->remove(site->id);
      site->reason = to_string(placed.error());
      tracker_.offer_again(site->body);
    }
    if (is_held(placed.error()) && held_looks_++ < most_held_looks) tracker_.look_soon();
    return fail(std::move(placed.error()));
  }
  held_looks_ = 0;
  const std::vector<SiteOutcome>& outcomes = *placed;
  const uint64_t now = monotonic_ns();
  std::vector<TraceSite*> fall_back;
  for (size_t i = 0; i < sites.size(); ++i) {
    TraceSite& site = *sites[i];
    site.backend = backend;
    site.placed = site.active = outcomes[i].placed;
    site.reason = outcomes[i].reason;
    if (outcomes[i].placed) {
      site.since_ns = now;
      continue;
    }
    session_->remove(site.id);
    if (site.not_before_ns == 0) site.not_before_ns = now;  // unseen from here on
    if (outcomes[i].retry) {
      tracker_.retry(site.body);
    } else if (automatic_ && backend == Backend::trampoline && site.body.not_probeable.empty()) {
      fall_back.push_back(&site);
    }
  }
  if (fall_back.empty()) return {};
  std::map<TraceSite*, std::string> first_reason;
  for (TraceSite* site : fall_back) first_reason[site] = site->reason;
  JITSCOPE_TRY(place(fall_back, Backend::breakpoint));
  for (TraceSite* site : fall_back) {
    if (site->placed && leads_into_live_image(process_, site->body.entry)) {
      add_note("another jitscope has jumps at these entries: they are counted by breakpoints");
    }
    if (!site->placed && site->reason != first_reason[site]) {
      site->reason = fmt::format("{}; {}", first_reason[site], site->reason);
    }
  }
  return {};
}

void LiveTracer::retire(const std::vector<std::pair<uint64_t, uint64_t>>& gone) {
  const uint64_t now = monotonic_ns();
  for (TraceSite& site : sites_) {
    if (!site.active) continue;
    const std::pair key{site.body.address, site.body.version};
    if (std::ranges::find(gone, key) == gone.end()) continue;
    // The jump, if any is left, leads into a slot that goes on working; withdraw() looks at it
    // again.
    session_->remove(site.id);
    site.active = false;
    site.until_ns = now;
  }
}

Status LiveTracer::take(BodyTracker::Change change) {
  // Breakpoint registers must be free before they can be used again. Else the new bodies come
  // first: taking a uprobe away costs milliseconds in which calls would be missed.
  const bool registers_first = active_breakpoints() != 0;
  if (registers_first) retire(change.gone);
  const Status status = place_appeared(std::move(change.appeared));
  if (!registers_first) retire(change.gone);
  return status;
}

Status LiveTracer::place_appeared(std::vector<BodyTracker::Found> appeared) {
  std::vector<TraceSite*> fresh;
  for (BodyTracker::Found& found : appeared) {
    TraceSite* site = nullptr;
    for (TraceSite& known : sites_) {
      if (known.body.address != found.body.address || known.body.version != found.body.version) {
        continue;
      }
      // One that could not be placed before comes again: it keeps its number. One whose shared slot
      // went away was seen up to then.
      if (!known.placed) {
        site = &known;
      } else if (known.shared) {
        found.not_before_ns = known.until_ns;
      }
    }
    if (site == nullptr) {
      site = &sites_.emplace_back();
      site->id = static_cast<uint32_t>(sites_.size() - 1);
      site->not_before_ns = found.not_before_ns;
    }
    site->method = found.method;
    site->body = std::move(found.body);
    fresh.push_back(site);
  }
  if (fresh.empty()) return {};
  return place(std::move(fresh), backend_);
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
  const uint64_t now = monotonic_ns();
  if (!gone_ && now - last_identity_check_ns_ > 100'000'000U) {
    last_identity_check_ns_ = now;
    gone_ = !process_.check_same().has_value();
  }
  return gone_;
}

Result<size_t> LiveTracer::poll_events(std::chrono::milliseconds wait,
                                       const std::function<void(const TracedCall&)>& on_call) {
  return session_->poll(wait, [&](const CallEvent& event) {
    if (!on_call || event.call->site >= sites_.size()) return;
    const TraceSite& site = sites_[event.call->site];
    on_call({site.method, &site.body, event});
  });
}

Result<bool> LiveTracer::step(std::chrono::milliseconds wait,
                              const std::function<void(const TracedCall&)>& on_call) {
  wait = std::min(wait, tracker_.longest_pause());
  JITSCOPE_TRY(poll_events(shared_.any() ? std::min(wait, shared_pause) : wait, on_call));
  if (target_gone()) return false;
  look_at_shared_slots();
  if (!tracker_.due()) return true;
  // Once more: a JVM that was just starting did not have its options yet.
  if (sites_.empty() && !std::exchange(asked_again_, true)) JITSCOPE_TRY(check_compiles(process_));
  be_patient(patience_between, options_.stop_asked);
  auto change = tracker_.look();
  Status status = change ? take(std::move(*change)) : Status(fail(std::move(change.error())));
  if (!status) {
    // An error while the target dies is not news; any other leaves the sites that are there at
    // work.
    last_identity_check_ns_ = 0;
    if (status.error().kind == ErrorKind::target_gone || target_gone()) {
      gone_ = true;
      return false;
    }
    // That the process was held is of interest only for bodies that could not be placed, and these
    // have it as their reason.
    if (is_held(status.error())) return true;
    add_note(to_string(status.error()));
  }
  return true;
}

uint64_t LiveTracer::calls() const {
  uint64_t all = 0;
  for (const TraceSite& site : sites_) all += site.placed ? session_->counts(site.id).calls : 0;
  return all;
}

MethodReport LiveTracer::report_method(size_t method) const {
  MethodReport report;
  report.method = tracker_.methods().display(method);
  report.raw = tracker_.methods().name(method).raw;
  bool v8_stack = false;
  for (const TraceSite& site : sites_) {
    if (site.method != method) continue;
    add_site(report, site, site.placed ? session_->counts(site.id) : SiteCounts{});
    v8_stack |= site.body.convention == CallConvention::v8_x86_64;
  }
  report.bodies_alive = tracker_.alive(method);
  report.interpreted_only = report.bodies_alive == 0 && source_.knows_loaded_methods();
  report.not_seen = {"interpreted calls", "calls inlined into other bodies"};
  if (source_.kind() == SourceKind::hotspot_memory || v8_stack) {
    report.not_seen.emplace_back("calls of a body before its since_ns");
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

void LiveTracer::be_patient(std::chrono::milliseconds for_tracer,
                            const std::function<bool()>& hurry) {
  const Patience patience{for_tracer, hurry, options_.on_wait};
  trampolines_.set_patience(patience);
  inplace_.set_patience(patience);
}

void LiveTracer::withdraw(TraceReport& report) {
  report.left_because.reset();
  auto count = trampolines_.withdraw();
  if (count) {
    report.entries_restored = *count;
  } else if (count.error().kind == ErrorKind::target_gone || target_gone()) {
    report.target_gone = true;
  } else {
    report.left_because = std::move(count.error());
    report.entries_left = trampolines_.jumps().size();
  }
}

void LiveTracer::end_session(const std::function<void(const TracedCall&)>& on_call) {
  (void)poll_events(std::chrono::milliseconds(0), on_call);
  for (const TraceSite& site : sites_) session_->remove(site.id);
  (void)poll_events(std::chrono::milliseconds(0), on_call);
}

TraceReport LiveTracer::finish(const std::function<void(const TracedCall&)>& on_call) {
  finished_ = true;
  TraceReport report;
  last_identity_check_ns_ = 0;
  report.target_gone = target_gone();
  if (!report.target_gone) {
    // Who is alive at the end; nothing is placed any more. What is slow to read does not keep the
    // probes in place.
    const WorkLimit limit{std::chrono::milliseconds(500)};
    look_at_shared_slots();
    if (auto change = tracker_.look(); change) retire(change->gone);
  }
  const bool jumps = trampolines_.prepared() && !report.target_gone;
  be_patient(patience_between, options_.leave_asked);
  if (jumps) withdraw(report);
  if (session_) {
    end_session(on_call);
    for (size_t i = 0; i < tracker_.methods().size(); ++i) {
      report.methods.push_back(report_method(i));
    }
  }
  // Nothing is counted any more: the longer wait for another tracer changes no figure.
  if (report.left_because && is_held(*report.left_because)) {
    be_patient(patience_at_end, options_.leave_asked);
    withdraw(report);
  }
  // An image whose jumps could not be taken back keeps its file: undo and other tools need it.
  if (trampolines_.prepared() && !report.left_because) trampolines_.unlink_file();
  report.stopped = trampolines_.stopped() + inplace_.stopped();
  report.longest_stop = std::max(trampolines_.longest_stop(), inplace_.stopped());
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
