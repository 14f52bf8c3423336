// How long a surgery stops its target, by threads and sites.
//
// A child has N threads: two call the functions that are patched, the others sleep in futex. Each
// round patches 1, 50 and 200 entries with jumps into slots, puts them back, and maps a live image;
// what counts is StopReport::stopped, from the first interrupt to the last resume. The patches are
// those that Trampolines makes, with the guards of a HotSpot body. Results of calls are checked all
// the time, and the bytes at the end.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <thread>

#include "common.h"
#include "probe/eligibility.h"
#include "probe/trampolines.h"
#include "surgery/surgery.h"

namespace jitscope::bench {
namespace {

constexpr std::array<unsigned, 2> thread_counts = {20, 100};
constexpr std::array<size_t, 3> site_counts = {1, 50, 200};
constexpr size_t most_sites = site_counts.back();
constexpr unsigned busy_threads = 2;
constexpr unsigned most_rounds = 500;  // each leaves a mapping of 2 MB in the child

struct Shared {
  Word ready;    // threads that run
  Word asleep;   // stays 0: what the sleepers wait for
  Word wrong;    // results that were not a + b
  Word circles;  // times that a busy thread called all functions
};

void run_busy(Shared& shared, const StandInCode& code) {
  ++shared.ready;
  for (int a = 0;; a = (a + 1) & 0xffff) {
    uint32_t errors = 0;
    for (size_t i = 0; i < code.count(); ++i) errors += code.function(i)(a, 3) != a + 3 ? 1 : 0;
    if (errors != 0) shared.wrong += errors;
    ++shared.circles;
  }
}

void run_child(Shared& shared, const StandInCode& code, unsigned threads) {
  for (unsigned i = 1; i < threads; ++i) {
    std::thread([&shared, &code, busy = i <= busy_threads] {
      if (busy) run_busy(shared, code);
      ++shared.ready;
      wait_while(shared.asleep, 0);
    }).detach();
  }
  ++shared.ready;
  wait_while(shared.asleep, 0);
}

struct Times {
  std::vector<double> patch;  // ms
  std::vector<double> restore;
};

double milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

class Bench {
 public:
  Bench(const Process& process, const StandInCode& code, unsigned threads)
      : process_(process), code_(code), threads_(threads), slots_(process) {}
  ~Bench() { slots_.unlink_file(); }

  Status prepare();
  Status round();
  // True when every entry holds the bytes it began with.
  Result<bool> restored() const;
  void print() const;

 private:
  Result<double> apply(std::span<const Patch> patches) const;
  Result<double> map_image() const;
  [[nodiscard]] Result<std::vector<Bytes>> entries() const;

  const Process& process_;
  const StandInCode& code_;
  unsigned threads_;
  Trampolines slots_;
  std::vector<Bytes> original_;
  std::vector<Patch> patches_;
  std::vector<Patch> restores_;
  std::array<Times, site_counts.size()> times_;
  std::vector<double> map_times_;
};

Result<std::vector<Bytes>> Bench::entries() const {
  std::vector<Bytes> result;
  for (size_t i = 0; i < code_.count(); ++i) {
    Bytes bytes(8);
    JITSCOPE_TRY(process_.memory().read(code_.entry(i), bytes));
    result.push_back(std::move(bytes));
  }
  return result;
}

// Slots and jumps come from Trampolines; the rounds then repeat its two surgeries, since its image
// would be full after ten rounds (a slot is never used again).
Status Bench::prepare() {
  JITSCOPE_ASSIGN(original_, entries());
  JITSCOPE_TRY(slots_.prepare(code_.low(), code_.high()));
  std::vector<SiteRequest> requests;
  for (size_t i = 0; i < code_.count(); ++i) {
    requests.push_back({static_cast<uint32_t>(i), code_.body(i), 0});
  }
  JITSCOPE_ASSIGN(const auto outcomes, slots_.place(requests, {}));
  for (const SiteOutcome& outcome : outcomes) {
    if (!outcome.placed) {
      return fail(ErrorKind::not_possible, "a site was not placed", outcome.reason);
    }
  }
  for (const PlacedJump& jump : slots_.jumps()) {
    patches_.push_back(
        {jump.entry, original_[jump.id], jump.jump, guards_of(requests[jump.id].body), 0, false});
    restores_.push_back({jump.entry, jump.jump, jump.original, {}, 0, false});
  }
  JITSCOPE_ASSIGN(const size_t back, slots_.withdraw());
  if (back != code_.count()) return fail(ErrorKind::not_possible, "entries were not put back");
  return {};
}

Result<double> Bench::apply(std::span<const Patch> patches) const {
  JITSCOPE_ASSIGN(const SurgeryReport report, apply_patches(process_, patches));
  const bool all = std::ranges::all_of(
      report.outcomes, [](PatchOutcome outcome) { return outcome == PatchOutcome::applied; });
  if (!all) return fail(ErrorKind::not_possible, "a patch was not applied", report.failure);
  if (report.stop.threads != threads_) {
    return fail(ErrorKind::not_possible,
                fmt::format("{} of {} threads were stopped", report.stop.threads, threads_));
  }
  return milliseconds(report.stop.stopped);
}

Result<double> Bench::map_image() const {
  Trampolines image(process_);
  JITSCOPE_TRY(image.prepare(code_.low(), code_.high()));
  image.unlink_file();
  return milliseconds(image.stopped());
}

Status Bench::round() {
  for (size_t i = 0; i < site_counts.size(); ++i) {
    JITSCOPE_ASSIGN(const double patch, apply(std::span(patches_).first(site_counts[i])));
    JITSCOPE_ASSIGN(const double restore, apply(std::span(restores_).first(site_counts[i])));
    times_[i].patch.push_back(patch);
    times_[i].restore.push_back(restore);
  }
  JITSCOPE_ASSIGN(const double map, map_image());
  map_times_.push_back(map);
  return {};
}

Result<bool> Bench::restored() const {
  JITSCOPE_ASSIGN(const auto now, entries());
  return now == original_;
}

void Bench::print() const {
  const auto row = [&](const std::string& what, const std::vector<double>& times) {
    fmt::print("{:>7}  {:<18} {:>9.3f} {:>9.3f} {:>9.3f}\n", threads_, what, minimum(times),
               median(times), maximum(times));
  };
  for (size_t i = 0; i < site_counts.size(); ++i) {
    const char* plural = site_counts[i] == 1 ? "" : "s";
    row(fmt::format("patch {} site{}", site_counts[i], plural), times_[i].patch);
    row(fmt::format("restore {} site{}", site_counts[i], plural), times_[i].restore);
  }
  row("map_file", map_times_);
}

// False when a result or a byte was wrong.
Result<bool> run(unsigned threads, unsigned rounds) {
  JITSCOPE_ASSIGN(const StandInCode code, StandInCode::make(most_sites));
  auto* shared = new (shared_memory(sizeof(Shared))) Shared{};
  JITSCOPE_ASSIGN(Child child, Child::start([&] { run_child(*shared, code, threads); }));
  JITSCOPE_TRY(child.wait_for(shared->ready, threads));
  JITSCOPE_ASSIGN(const Process process, Process::open(child.pid()));
  Bench bench(process, code, threads);
  JITSCOPE_TRY(bench.prepare());
  unsigned done = 0;
  for (; done < rounds && !interrupted(); ++done) JITSCOPE_TRY(bench.round());
  JITSCOPE_ASSIGN(const bool restored, bench.restored());
  const uint32_t circles = shared->circles.load();
  if (done > 0) bench.print();
  if (shared->wrong.load() != 0 || !restored || circles == 0) {
    fmt::print(stderr, "error: {} wrong results in {} rounds of calls, entries {}\n",
               shared->wrong.load(), circles, restored ? "put back" : "NOT put back");
    return false;
  }
  return true;
}

int run_all(unsigned rounds) {
  fmt::print("{}\n{} rounds; stopped time in ms; 2 of the threads are busy\n\n", machine(), rounds);
  fmt::print("{:>7}  {:<18} {:>9} {:>9} {:>9}\n", "threads", "", "least", "median", "most");
  for (const unsigned threads : thread_counts) {
    if (interrupted()) break;
    const auto right = run(threads, rounds);
    if (!right) return report_failure(right.error());
    if (!*right) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace jitscope::bench

int main(int argc, char** argv) {
  using namespace jitscope::bench;
  int status = 0;
  const auto options = parse_options(argc, argv, "Measures how long a surgery stops its target.",
                                     50, most_rounds, status);
  if (!options) return status;
  if (const std::string reason = why_skipped(); !reason.empty()) {
    fmt::print(stderr, "skipped: {}\n", reason);
    return skipped;
  }
  catch_interrupt();
  return run_all(options->rounds);
}
