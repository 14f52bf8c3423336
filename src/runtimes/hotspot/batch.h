// Batch: many structs of the target, each pointer fetched once, a whole level at a time.
//
// HotSpot's names lie behind chains of pointers (Method -> ConstMethod -> ConstantPool -> Symbol).
// One read each would be tens of thousands of system calls; here all pointers of a level are
// collected first and read together (MemoryReader::read_many).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "process/memory_reader.h"

namespace jitscope::hotspot {

// Structs of one size. add() all, read(), then get() each.
class StructBatch {
 public:
  explicit StructBatch(uint32_t size) : size_(size) {}

  // Null and unaligned pointers are taken and never readable.
  void add(uint64_t address);
  void read(MemoryReader& memory);
  // The bytes of the struct, or an empty span when it could not be read.
  [[nodiscard]] std::span<const std::byte> get(uint64_t address) const;
  [[nodiscard]] size_t count() const { return addresses_.size(); }

 private:
  uint32_t size_;
  std::vector<uint64_t> addresses_;
  std::unordered_map<uint64_t, size_t> index_;
  std::vector<std::byte> bytes_;
  std::vector<bool> readable_;
};

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

}  // namespace jitscope::hotspot
