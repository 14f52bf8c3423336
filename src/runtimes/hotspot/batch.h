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
#include "process/read_ranges.h"

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

}  // namespace jitscope::hotspot
