// read_ranges: many stretches of a process's memory, a few large reads at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "process/memory_reader.h"

namespace jitscope {

// Ranges of any length that were not asked for twice by the caller: reads them all, at most
// `chunk_bytes` at a time, and calls visit(index, bytes) for each that could be read.
struct ByteRange {
  uint64_t address = 0;
  uint32_t length = 0;
  bool operator==(const ByteRange&) const = default;
};
template <typename Visit>
void read_ranges(MemoryReader& memory, std::span<const ByteRange> ranges, Visit&& visit) {
  constexpr size_t kChunkBytes = 4U << 20U;
  std::vector<std::byte> buffer;
  std::vector<MemoryReader::Range> reads;
  for (size_t first = 0; first < ranges.size();) {
    size_t total = 0;
    size_t last = first;
    while (last < ranges.size() && (last == first || total + ranges[last].length <= kChunkBytes)) {
      total += ranges[last++].length;
    }
    buffer.resize(total);
    reads.clear();
    size_t at = 0;
    for (size_t i = first; i < last; ++i) {
      reads.push_back({ranges[i].address, std::span(buffer).subspan(at, ranges[i].length), false});
      at += ranges[i].length;
    }
    memory.read_many(reads);
    for (size_t i = first; i < last; ++i) {
      if (reads[i - first].ok) visit(i, std::span<const std::byte>(reads[i - first].out));
    }
    first = last;
  }
}

}  // namespace jitscope
