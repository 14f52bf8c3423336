// The address range that a live image must be able to reach.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "process/maps.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

// [low, high) around `anchor`: all bodies of the snapshot that lie within 1 GB of it, widened to
// the ends of the adjoining mappings (a code cache is reserved as one piece and grows within it).
[[nodiscard]] std::pair<uint64_t, uint64_t> code_range_around(uint64_t anchor,
                                                              const Snapshot& snapshot,
                                                              const std::vector<Mapping>& maps);

}  // namespace jitscope
