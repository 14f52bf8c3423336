// BackOff: how long something may be left alone that can change at any time and does not tell.
//
// The pause is a part of the time for which nothing has happened: what changed a moment ago is
// looked at soon, what has been quiet for long seldom. So a change is noticed late by at most that
// part of the quiet before it, and never by more than the longest pause. Pure arithmetic: the
// caller reads the clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace jitscope {

class BackOff {
 public:
  struct Limits {
    uint64_t shortest_ns = 0;
    uint64_t longest_ns = 0;
    uint64_t part = 8;  // of the quiet, the pause is one of so many
  };

  BackOff(const Limits& limits, uint64_t now) : limits_(limits), last_(now) {}

  // Something happened, or was found.
  void happened(uint64_t now) { last_ = std::max(last_, now); }
  [[nodiscard]] uint64_t pause(uint64_t now) const { return pause(now, limits_); }
  // Under other limits than usual.
  [[nodiscard]] uint64_t pause(uint64_t now, const Limits& limits) const {
    const uint64_t quiet = now - std::min(now, last_);
    const uint64_t part = std::max<uint64_t>(limits.part, 1);
    return std::clamp(quiet / part, limits.shortest_ns,
                      std::max(limits.shortest_ns, limits.longest_ns));
  }

 private:
  Limits limits_;
  uint64_t last_;
};

}  // namespace jitscope
