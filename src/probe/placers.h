// Placers: the placers of one trace, made when they are first needed, and what is done with all of
// them alike.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "probe/backend.h"
#include "probe/site_placer.h"

namespace jitscope {

class Placers {
 public:
  explicit Placers(PlacerContext context) : context_(std::move(context)) {}
  Placers(const Placers&) = delete;
  Placers& operator=(const Placers&) = delete;

  // Made now if there is none yet.
  Result<SitePlacer*> of(const Backend& backend);
  // None was made: nothing was placed.
  [[nodiscard]] bool empty() const { return placers_.empty(); }

  void set_patience(const Patience& patience);
  // Hands waiting hits over, of all sources.
  Result<size_t> poll(std::chrono::milliseconds wait,
                      const std::function<void(const Hit&)>& on_hit);
  // Sleeps until a hit waits, one of `others` is readable, or `wait` is over; then as poll().
  Result<size_t> sleep(std::chrono::milliseconds wait, std::span<const int> others,
                       const std::function<void(const Hit&)>& on_hit);
  std::vector<LostSite> look();
  [[nodiscard]] std::chrono::milliseconds longest_pause() const;

  struct Withdrawn {
    size_t restored = 0;
    size_t left = 0;
    std::optional<Error> failure;  // the first one
  };
  Withdrawn withdraw();
  void discard();

  [[nodiscard]] StopTimes stops() const;
  [[nodiscard]] std::vector<std::string> remarks() const;

 private:
  struct Made {
    const Backend* backend;
    std::unique_ptr<SitePlacer> placer;
  };

  // First, so that what hits need outlives what was placed.
  PlacerContext context_;
  Patience patience_;
  std::vector<Made> placers_;
  std::vector<HitSource*> sources_;  // each once
};

}  // namespace jitscope
