#include "probe/code_range.h"

#include <algorithm>

namespace jitscope {

std::pair<uint64_t, uint64_t> code_range_around(uint64_t anchor, const Snapshot& snapshot,
                                                const std::vector<Mapping>& maps) {
  constexpr uint64_t near = 1ULL << 30U;
  uint64_t low = anchor;
  uint64_t high = anchor + 16;
  for (const CodeBody& body : snapshot.bodies) {
    const uint64_t distance = body.address > anchor ? body.address - anchor : anchor - body.address;
    // A perf map may say anything of a size.
    if (distance > near || body.size > near || body.tier == Tier::stub) continue;
    low = std::min(low, body.address);
    high = std::max(high, body.address + body.size);
  }
  // Only anonymous neighbours: a library that happens to adjoin is no code cache.
  for (bool grown = true; grown;) {
    grown = false;
    for (const Mapping& mapping : maps) {
      if (mapping.size() > near || mapping.file_backed()) continue;
      if (mapping.start < low && mapping.end >= low &&
          high - mapping.start <= 2 * near - (64U << 20U)) {
        low = mapping.start;
        grown = true;
      }
      if (mapping.end > high && mapping.start <= high &&
          mapping.end - low <= 2 * near - (64U << 20U)) {
        high = mapping.end;
        grown = true;
      }
    }
  }
  return {low, high};
}

}  // namespace jitscope
