#include "base/work_limit.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace jitscope {
namespace {

constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);

thread_local WorkLimit* innermost = nullptr;

}  // namespace

WorkLimit::WorkLimit(std::chrono::nanoseconds time, std::function<bool()> stop)
    : outer_(innermost),
      begin_(monotonic_ns()),
      cpu_begin_(thread_cpu_ns()),
      time_(static_cast<uint64_t>(std::clamp<int64_t>(time.count(), 0, kLongest.count()))),
      stop_(std::move(stop)) {
  innermost = this;
}

WorkLimit::~WorkLimit() {
  innermost = outer_;
}

bool WorkLimit::over() {
  if (innermost == nullptr) return false;
  WorkLimit& limit = *innermost;
  if (limit.over_) return true;
  const uint64_t now = monotonic_ns();
  for (const WorkLimit* each = &limit; each != nullptr && !limit.over_; each = each->outer_) {
    limit.over_ = each->over_ || each->expired(now);
  }
  return limit.over_;
}

bool WorkLimit::expired(uint64_t now) const {
  if (stop_ && stop_()) return true;
  const uint64_t passed = now - begin_;
  if (passed < time_) return false;
  return passed / 8 >= time_ || thread_cpu_ns() - cpu_begin_ >= time_ / 2;
}

std::chrono::nanoseconds WorkLimit::used() const {
  return std::chrono::nanoseconds(monotonic_ns() - begin_);
}

}  // namespace jitscope
