// What one hit of a probe costs the target, by backend.
//
// A child calls one function in a tight loop; this process puts a probe on it, has the child make a
// known number of calls, and takes the probe away again. Each round does so with every variant, so
// that what else the machine does meets all of them alike; the figures are medians over the rounds.
// The time is the calling thread's CPU time: waiting for a busy CPU is not part of a hit. The
// counts must come out exactly as the calls made, or the run fails.
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <memory>
#include <new>
#include <optional>

#include "common.h"
#include "ebpf/bpf_session.h"
#include "probe/eligibility.h"
#include "probe/inplace.h"
#include "probe/register_slots.h"
#include "probe/trampolines.h"

namespace jitscope::bench {
namespace {

constexpr uint64_t plain_calls = 10'000'000;
constexpr uint64_t trampoline_calls = 50'000;  // their events fit the ring even if nobody reads
constexpr uint64_t trap_calls = 20'000;
constexpr uint64_t warm_up_calls = 500;
// One image has pages for this many rounds: a batch never goes on a used page.
constexpr unsigned most_rounds = 100;
constexpr std::chrono::milliseconds poll_wait{10};  // as `jitscope trace` does

enum class Variant : uint8_t {
  unpatched,
  jump,
  counting,
  checked,
  events,
  common,
  inplace,
  breakpoint
};
constexpr size_t variants = 8;

struct Shape {
  const char* name;
  uint64_t calls;  // timed ones, after the warm-up
  bool counted;
};
constexpr std::array<Shape, variants> shapes = {{
    {"unpatched call", plain_calls, false},
    {"jump through a slot, no uprobe", plain_calls, false},
    {"trampoline, counting", trampoline_calls, true},
    {"trampoline, counting, body checked", trampoline_calls, true},
    {"trampoline, counting and events", trampoline_calls, true},
    {"shared point (as exposed), counting", trampoline_calls, true},
    {"in-place uprobe, counting", trap_calls, true},
    {"hardware breakpoint, counting", trap_calls, true},
}};

constexpr size_t index_of(Variant variant) {
  return static_cast<size_t>(variant);
}

// Between the two processes: the parent numbers its requests, the child answers with the number.
struct Exchange {
  Word request;
  Word done;
  uint64_t calls;
  uint64_t cpu_ns;  // of the timed calls
  uint64_t wrong;   // results that were not a + b
};

uint64_t thread_cpu_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

void call_many(StandInCode::Function function, uint64_t calls, uint64_t& wrong) {
  uint64_t errors = 0;
  for (uint64_t i = 0; i < calls; ++i) {
    const int a = static_cast<int>(i);
    errors += function(a, 3) != a + 3 ? 1 : 0;
  }
  wrong += errors;
}

void run_child(Exchange& exchange, StandInCode::Function function) {
  uint64_t wrong = 0;
  for (uint32_t served = 0;;) {
    wait_while(exchange.request, served);
    served = exchange.request.load();
    call_many(function, warm_up_calls, wrong);
    const uint64_t before = thread_cpu_ns();
    call_many(function, exchange.calls, wrong);
    exchange.cpu_ns = thread_cpu_ns() - before;
    exchange.wrong = wrong;
    exchange.done.store(served);
    wake(exchange.done);
  }
}

class Bench {
 public:
  Bench(const Process& process, Child& child, Exchange& exchange, const StandInCode& code)
      : child_(child),
        exchange_(exchange),
        process_(process),
        code_(code),
        body_(code.body(0)),
        trampolines_(process) {}
  ~Bench() { trampolines_.unlink_file(); }

  Status prepare();
  Status round(unsigned number);
  void print() const;
  [[nodiscard]] bool exact() const { return exact_; }

 private:
  struct Figures {
    std::vector<double> per_call;  // ns
    std::vector<double> above;     // ns above the unpatched call of the same round
    uint64_t calls = 0;
    uint64_t counted = 0;
    uint64_t lost = 0;
    std::string unavailable;
  };

  Status attach(Variant variant);
  Status detach(Variant variant);
  Status place_slot(BpfSession* session, uint32_t id, uint64_t common);
  Result<double> call(Variant variant);
  Status measure(Variant variant);
  [[nodiscard]] BpfSession& session_of(Variant variant) const {
    return variant == Variant::events ? *with_events_ : *counting_;
  }

  Child& child_;
  Exchange& exchange_;
  const Process& process_;
  const StandInCode& code_;
  CodeBody body_;
  // As in a trace: the sessions outlive the jumps.
  std::unique_ptr<BpfSession> counting_;
  std::unique_ptr<BpfSession> with_events_;
  Trampolines trampolines_;
  uint64_t common_offset_ = 0;
  std::optional<InplacePages> inplace_;
  uint32_t requests_ = 0;
  uint64_t received_ = 0;
  std::array<Figures, variants> figures_;
  bool exact_ = true;
};

Status Bench::prepare() {
  BpfSessionOptions options;
  options.events = false;
  JITSCOPE_ASSIGN(counting_, BpfSession::open(process_, options));
  options.events = true;
  JITSCOPE_ASSIGN(with_events_, BpfSession::open(process_, options));
  JITSCOPE_TRY(trampolines_.prepare(code_.low(), code_.high()));
  const std::array<Trampolines::CommonPoint, 1> points = {{{"bench.StandIn.f0", ""}}};
  JITSCOPE_ASSIGN(const auto offsets, trampolines_.add_common_points(points));
  common_offset_ = offsets.front();
  return {};
}

Status placed(const Result<std::vector<SiteOutcome>>& outcomes) {
  if (!outcomes) return fail(outcomes.error());
  const SiteOutcome& outcome = outcomes->front();
  if (outcome.placed) return {};
  return fail(ErrorKind::not_possible, "the site was not placed", outcome.reason);
}

Status Bench::place_slot(BpfSession* session, uint32_t id, uint64_t common) {
  Trampolines::SlotsReady ready;
  const bool checked = id == static_cast<uint32_t>(Variant::checked);
  if (session != nullptr && checked) {
    ready = register_slots(*session, [this](uint32_t) { return state_check_of(body_); });
  } else if (session != nullptr) {
    ready = register_slots(*session);
  }
  const std::array<SiteRequest, 1> requests = {{{id, body_, common}}};
  return placed(trampolines_.place(requests, ready));
}

Status Bench::attach(Variant variant) {
  const auto id = static_cast<uint32_t>(variant);
  switch (variant) {
    case Variant::unpatched:
      return {};
    case Variant::jump:
      return place_slot(nullptr, id, 0);
    case Variant::counting:
    case Variant::checked:
    case Variant::events:
      return place_slot(&session_of(variant), id, 0);
    case Variant::common:
      JITSCOPE_TRY(counting_->add_uprobe(id, trampolines_.file_here(), common_offset_, HitCheck{}));
      return place_slot(nullptr, id, trampolines_.base() + common_offset_);
    case Variant::inplace: {
      inplace_.emplace(process_);
      const std::array<SiteRequest, 1> requests = {{{id, body_, 0}}};
      return placed(inplace_->place(requests, register_slots(*counting_)));
    }
    case Variant::breakpoint:
      return counting_->add_breakpoint(id, body_.entry, hit_check_of(body_));
  }
  return {};
}

Status Bench::detach(Variant variant) {
  const auto id = static_cast<uint32_t>(variant);
  if (variant != Variant::unpatched && variant < Variant::inplace) {
    JITSCOPE_ASSIGN(const size_t restored, trampolines_.withdraw(std::array{id}));
    if (restored != 1) return fail(ErrorKind::not_possible, "the entry was not put back");
  }
  session_of(variant).remove(id);
  inplace_.reset();
  return {};
}

// One request to the child: ns of CPU time a call.
Result<double> Bench::call(Variant variant) {
  exchange_.calls = shapes[index_of(variant)].calls;
  exchange_.request.store(++requests_);
  wake(exchange_.request);
  std::function<Status()> consume;
  const auto take = [&](const CallEvent&) { ++received_; };
  if (variant == Variant::events) {
    consume = [&]() -> Status {
      JITSCOPE_TRY(with_events_->poll(poll_wait, take));
      return {};
    };
  }
  JITSCOPE_TRY(child_.wait_for(exchange_.done, requests_, consume));
  if (consume) JITSCOPE_TRY(with_events_->poll(std::chrono::milliseconds(0), take));
  return static_cast<double>(exchange_.cpu_ns) / static_cast<double>(exchange_.calls);
}

Status Bench::measure(Variant variant) {
  Figures& figures = figures_[index_of(variant)];
  const Shape& shape = shapes[index_of(variant)];
  if (!figures.unavailable.empty()) return {};
  if (Status status = attach(variant); !status) {
    // The registers of the CPU may be taken or missing; the other variants need no such thing.
    if (variant != Variant::breakpoint || status.error().kind != ErrorKind::not_possible) {
      return status;
    }
    figures.unavailable = to_string(status.error());
    return {};
  }
  auto per_call = call(variant);
  if (per_call || per_call.error().kind != ErrorKind::target_gone) JITSCOPE_TRY(detach(variant));
  if (!per_call) return fail(std::move(per_call.error()));
  figures.per_call.push_back(*per_call);
  if (!shape.counted) return {};
  const SiteCounts counts = session_of(variant).counts(static_cast<uint32_t>(variant));
  figures.calls += shape.calls + warm_up_calls;
  figures.counted = counts.calls;
  figures.lost = counts.lost;
  return {};
}

Status Bench::round(unsigned number) {
  for (size_t i = 0; i < variants; ++i) {
    // Another one comes first in each round, so that none always follows the same neighbour.
    JITSCOPE_TRY(measure(static_cast<Variant>((i + number) % variants)));
  }
  const double unpatched = figures_[index_of(Variant::unpatched)].per_call.back();
  for (Figures& figures : figures_) {
    if (figures.unavailable.empty()) figures.above.push_back(figures.per_call.back() - unpatched);
    exact_ = exact_ && figures.counted == figures.calls;
  }
  const Figures& events = figures_[index_of(Variant::events)];
  exact_ = exact_ && received_ + events.lost == events.counted && exchange_.wrong == 0;
  return {};
}

void Bench::print() const {
  const double trampoline = median(figures_[index_of(Variant::counting)].above);
  fmt::print("{:<36} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", "", "ns/call", "ns/hit", "least", "most",
             "ratio", "counted / calls made");
  for (size_t i = 0; i < variants; ++i) {
    const Figures& figures = figures_[i];
    if (!figures.unavailable.empty()) {
      fmt::print("{:<36} not here: {}\n", shapes[i].name, figures.unavailable);
      continue;
    }
    fmt::print("{:<36} {:>9.1f}", shapes[i].name, median(figures.per_call));
    if (i != index_of(Variant::unpatched)) {
      fmt::print(" {:>9.1f} {:>9.1f} {:>9.1f} {:>9.3f}", median(figures.above),
                 minimum(figures.above), maximum(figures.above),
                 median(figures.above) / trampoline);
    }
    if (shapes[i].counted) {
      fmt::print("  {} / {}{}", figures.counted, figures.calls,
                 figures.counted == figures.calls ? "" : "  WRONG");
    }
    if (figures.lost > 0) fmt::print(", {} events lost", figures.lost);
    fmt::print("\n");
  }
  fmt::print(
      "ns/hit: above an unpatched call of the same round (median, least, most); ratio: to the "
      "counting trampoline\n");
  fmt::print("events received {}, wrong results {}\n", received_, exchange_.wrong);
  fmt::print("trampoline / in-place = {:.2f} (expected <= 0.25)\n",
             trampoline / median(figures_[index_of(Variant::inplace)].above));
}

Result<bool> run(unsigned rounds) {
  const std::string before = machine();
  JITSCOPE_ASSIGN(const StandInCode code, StandInCode::make(1));
  auto* exchange = new (shared_memory(sizeof(Exchange))) Exchange{};
  const auto cpus = two_cpus();
  JITSCOPE_ASSIGN(Child child, Child::start([&] {
                    if (cpus) pin_to(cpus->first);
                    run_child(*exchange, code.function(0));
                  }));
  if (cpus) pin_to(cpus->last);
  JITSCOPE_ASSIGN(const Process process, Process::open(child.pid()));
  Bench bench(process, child, *exchange, code);
  JITSCOPE_TRY(bench.prepare());
  unsigned done = 0;
  for (; done < rounds && !interrupted(); ++done) JITSCOPE_TRY(bench.round(done));
  fmt::print("{}\n{} rounds, {}\n\n", before, done,
             cpus ? "the child and the tracer on a CPU each" : "one CPU for both");
  if (done > 0) bench.print();
  return bench.exact();
}

}  // namespace
}  // namespace jitscope::bench

int main(int argc, char** argv) {
  using namespace jitscope::bench;
  int status = 0;
  const auto options = parse_options(argc, argv, "Measures the cost of a probe's hit by backend.",
                                     15, most_rounds, status);
  if (!options) return status;
  if (const std::string reason = why_skipped(); !reason.empty()) {
    fmt::print(stderr, "skipped: {}\n", reason);
    return skipped;
  }
  catch_interrupt();
  const auto exact = run(options->rounds);
  if (!exact) return report_failure(exact.error());
  if (!*exact) fmt::print(stderr, "error: counts and calls made differ\n");
  return *exact ? 0 : 1;
}
