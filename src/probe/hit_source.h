// HitSource: where the hits of sites come from. Several backends may share one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "probe/hit.h"

namespace jitscope {

// What a trace wants to have.
struct HitOptions {
  bool events = true;   // each hit, not only how many
  bool stacks = false;  // with the top of the stack
  // Which hits are delivered at all; all are counted. Decided where they are counted.
  uint64_t events_a_second = 0;  // of all sites together; 0: no limit
  uint64_t every = 0;            // one of so many hits of each site; 0: all
};

class HitSource {
 public:
  virtual ~HitSource() = default;

  // Hands waiting hits to `on_hit`, waiting at most `wait` for the first. How many were handed.
  virtual Result<size_t> poll(std::chrono::milliseconds wait,
                              const std::function<void(const Hit&)>& on_hit) = 0;
  // From now on its reader sleeps until a descriptor is readable, or sleeps no longer. The one that
  // becomes readable at the next hit; -1: hits are not delivered. Hits that came just before may
  // still wait, and the very first one may be missed: for bounded sleeps.
  virtual int wait_for_hit(bool /*sleeps*/) { return -1; }
  // Exact, also of what was not delivered yet, and still there when the site is not.
  [[nodiscard]] virtual HitCounts counts(uint32_t site) const = 0;
};

}  // namespace jitscope
