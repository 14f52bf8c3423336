// LookPacer: how long to wait between two looks at a process, so that looking costs at most a share
// of one CPU in the long run, and yet a burst of new code does not make it blind.
//
// A credit of CPU time grows with the clock up to a limit, and with what looks find; a look is paid
// from it. As long as there is credit the next look comes after the shortest pause; a debt has to
// be paid back first, but never for longer than the longest pause. So a process that compiles much
// is looked at more than one that has little news. Pure arithmetic: the caller reads the clocks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace jitscope {

class LookPacer {
 public:
  struct Limits {
    uint64_t shortest_ns = 0;
    uint64_t longest_ns = 0;
    double share = 0.05;  // of one CPU, at most
    // Of one CPU while nothing is found; and what a new body adds to that, in CPU time. 0: looks
    // get the whole share, whatever they find.
    double calm_share = 0;
    uint64_t worth_ns = 0;
    // Of CPU time: the most that is saved up, and what is there at first. Enough for some thousand
    // new bodies at once.
    uint64_t credit_ns = 100'000'000;
  };

  explicit LookPacer(const Limits& limits)
      : limits_(limits), credit_(static_cast<int64_t>(limits.credit_ns)) {}

  // A look ended at `now` (CLOCK_MONOTONIC) and cost `cost` of CPU time; `sharers` processes have
  // the share together, this one among them; it found `found` new bodies. The pause until the next
  // look, in ns.
  uint64_t pause_after(uint64_t now, uint64_t cost, uint64_t sharers = 1, uint64_t found = 0) {
    const auto all = static_cast<double>(std::max<uint64_t>(sharers, 1));
    const double most_share = std::max(limits_.share, 0.001) / all;
    const double share =
        limits_.calm_share > 0 ? std::min(limits_.calm_share / all, most_share) : most_share;
    const auto most = static_cast<int64_t>(limits_.credit_ns / std::max<uint64_t>(sharers, 1));
    earned_ /= 2;
    if (last_ != 0 && now > last_) {
      const auto passed = static_cast<double>(now - last_);
      const double found_ns = static_cast<double>(found) * static_cast<double>(limits_.worth_ns);
      earned_ = std::max(earned_, std::min(found_ns / passed, most_share - share));
      credit_ += static_cast<int64_t>((passed * share) +
                                      std::min(found_ns, passed * (most_share - share)));
    }
    last_ = now;
    credit_ = std::min(credit_, most) - static_cast<int64_t>(std::min(cost, kDearest));
    if (credit_ >= 0) return limits_.shortest_ns;
    // A debt that the longest pause would not pay back is forgotten: it would only add up.
    const auto paid = static_cast<int64_t>(static_cast<double>(limits_.longest_ns) * share);
    credit_ = std::max(credit_, -paid);
    // What looks found just now the next one will find, too.
    const auto pause = static_cast<uint64_t>(static_cast<double>(-credit_) / (share + earned_));
    return std::clamp(pause, limits_.shortest_ns, limits_.longest_ns);
  }

 private:
  static constexpr uint64_t kDearest = 3'600'000'000'000;  // an hour: no overflow

  Limits limits_;
  int64_t credit_;
  double earned_ = 0;  // by what was found, of one CPU
  uint64_t last_ = 0;  // 0: no look yet
};

}  // namespace jitscope
