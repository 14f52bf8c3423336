#include "cli/trace_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "probe/silence.h"

namespace jitscope {
namespace {

constexpr uint64_t kSilence = 2'000'000'000;
constexpr uint64_t kPause = 1'000'000'000;

}  // namespace

TraceWatch::TraceWatch(const TraceWatchOptions& options, CodeSource& source, Tracer& tracer)
    : options_(options),
      source_(source),
      tracer_(tracer),
      begin_ns_(monotonic_ns()),
      looked_ns_(begin_ns_) {}

std::vector<std::string> TraceWatch::look(uint64_t shown) {
  const bool may_flood = !options_.count && options_.limit != 0 && !flood_told_;
  const uint64_t now = monotonic_ns();
  if (now - looked_ns_ < kPause || (silence_told_ && !may_flood)) return {};
  const uint64_t passed = now - std::exchange(looked_ns_, now);
  const uint64_t calls = tracer_.calls();
  const uint64_t came = calls - std::min(calls, std::exchange(calls_, calls));
  if (calls != 0 || shown != 0) silence_told_ = true;
  if (!silence_told_ && now - begin_ns_ >= kSilence) {
    silence_told_ = true;
    std::vector<std::string> reasons = why_silent(tracer_.methods(), tracer_.snapshot(), source_);
    reasons.insert(reasons.begin(), "no call has come yet");
    return reasons;
  }
  const double a_second = static_cast<double>(came) * 1e9 / static_cast<double>(passed);
  const auto shown_of = static_cast<double>(std::max<uint64_t>(options_.every, 1));
  if (!may_flood || a_second / shown_of <= static_cast<double>(options_.limit)) return {};
  flood_told_ = true;
  return {fmt::format(
      "{:.0f} calls a second: {} lines a second are shown, all calls are counted (--limit 0 shows "
      "all, which slows the target; --every N every Nth)",
      a_second, options_.limit)};
}

}  // namespace jitscope
