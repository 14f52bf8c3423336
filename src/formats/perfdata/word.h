// A 64-bit word out of a span whose size was checked before: the one unchecked read in this folder,
// for the fixed fields of a record (one check for all of them).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "formats/perfdata/format.h"

namespace jitscope::perfdata {

// Precondition: bytes.size() >= (index + 1) * 8. perf.data is little-endian and so are we.
[[nodiscard]] inline uint64_t word_at(std::span<const std::byte> bytes, size_t index) {
  assert(bytes.size() >= (index + 1) * kWord);
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + index * kWord, kWord);
  return word;
}
[[nodiscard]] inline uint32_t low_half(uint64_t word) {
  return static_cast<uint32_t>(word);
}
[[nodiscard]] inline uint32_t high_half(uint64_t word) {
  return static_cast<uint32_t>(word >> 32U);
}

}  // namespace jitscope::perfdata
