// PerfMapOverlaps: what holds an address where lines of a perf map overlap. Inside
// src/formats/perfmap only.
//
// Lines that overlap form clusters; a sweep over each cluster cuts it into elementary segments and
// notes for each who wins (the last line) and which other names are there. A map without overlaps
// costs one look at each line. O(n log n) whatever the lines say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/perfmap/perf_map_table.h"

namespace jitscope {

class PerfMapOverlaps {
 public:
  Status find(const PerfMapTable& table);

  struct Holders {
    // The last line of each name, later lines first, up to kMostCandidates.
    std::span<const PerfMapTable::Position> lines;
    uint64_t names = 0;
    // The same for every address in [low, high].
    uint64_t low = 0;
    uint64_t high = 0;
  };
  // Nothing when no cluster holds the address: at most one line does.
  [[nodiscard]] std::optional<Holders> at(uint64_t address) const;

 private:
  struct Cluster {
    uint64_t low = 0;
    uint64_t high = 0;
    size_t first_segment = 0;
  };
  struct Segment {
    uint64_t low = 0;
    size_t first_line = 0;  // in lines_, up to that of the next segment
    uint32_t names = 0;
  };
  // The lines at positions [first, last), all of one cluster; `names` are their hashes or ids.
  Status sweep(const PerfMapTable& table, PerfMapTable::Position first, PerfMapTable::Position last,
               std::span<const uint64_t> names);

  std::vector<Cluster> clusters_;
  std::vector<Segment> segments_;  // one more at the end
  std::vector<PerfMapTable::Position> lines_;
};

}  // namespace jitscope
