// SitePlacer: places and removes the sites of one trace in its own way, and delivers their hits.
// What a backend makes (backend.h), and all that a trace knows of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "probe/hit_source.h"
#include "probe/patience.h"
#include "probe/site.h"

namespace jitscope {

struct PlaceReport {
  std::vector<SiteOutcome> outcomes;  // one a request, in order
  // An error concerns all that are not placed: nothing was changed for those.
  Status status;
  // With an error: what this backend cannot do without, and cannot have in this process
  // ("no live image"). "" where another try may do better.
  std::string lacks;
  std::vector<std::string> notes;  // for the user
};

// A site that does not fire any more though its body is still there.
struct LostSite {
  uint32_t id = 0;
  uint64_t until_ns = 0;  // CLOCK_MONOTONIC: seen up to here
  std::string reason;
};

// How long the target stood still.
struct StopTimes {
  std::chrono::nanoseconds stopped{0};  // all stops together
  std::chrono::nanoseconds longest{0};
};

class SitePlacer {
 public:
  virtual ~SitePlacer() = default;

  [[nodiscard]] virtual HitSource& hits() = 0;

  // Sites whose body is there now. What is not placed has no probe and counts nothing.
  virtual PlaceReport place(std::span<const SiteRequest> requests) = 0;
  // The body is gone or the trace is over: hits of this site do not count any more. Unknown sites
  // are ignored. What lies at the entry stays until withdraw(): no stop is made for it.
  virtual void remove(uint32_t id) = 0;

  // Sites that were lost since the last look; they are removed already.
  virtual std::vector<LostSite> look() { return {}; }
  // look() should be called as often as this.
  [[nodiscard]] virtual std::chrono::milliseconds longest_pause() const {
    return std::chrono::milliseconds::max();
  }
  // There are so few sites that those of gone bodies must be removed before new ones are placed.
  // Else new ones come first, so that their calls are not missed meanwhile.
  [[nodiscard]] virtual bool scarce() const { return false; }

  // Puts back what lies in the target, where it still is ours. How many entries. After an error
  // nothing has changed and it can be called again; entries_left() are then still there, and harm
  // nobody.
  virtual Result<size_t> withdraw() { return 0; }
  [[nodiscard]] virtual size_t entries_left() const { return 0; }
  // Nothing in the target leads to what was made for it any more, or the target is gone.
  virtual void discard() {}

  // How long to wait where another tracer holds the process; from now on.
  virtual void set_patience(const Patience& /*patience*/) {}
  [[nodiscard]] virtual StopTimes stops() const { return {}; }
  // What the user should know of how it works here; "" for the usual.
  [[nodiscard]] virtual std::string remark() const { return {}; }
};

}  // namespace jitscope
