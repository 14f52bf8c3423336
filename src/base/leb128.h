// LEB128 (DWARF 5, section 7.6): numbers of seven bits a byte, the lowest first.
//
// Reading goes through ByteCursor: a number that ends beyond the bytes or does not fit 64 bits
// marks the cursor as failed and reads as zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/byte_cursor.h"

namespace jitscope {

inline void put_uleb128(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

inline void put_sleb128(std::string& out, int64_t value) {
  for (;;) {
    const auto low = static_cast<unsigned>(value) & 0x7fU;
    value >>= 7;  // keeps the sign
    const bool last = value == ((low & 0x40U) != 0 ? -1 : 0);
    out.push_back(static_cast<char>(last ? low : low | 0x80U));
    if (last) return;
  }
}

[[nodiscard]] constexpr size_t uleb128_size(uint64_t value) {
  size_t size = 1;
  while ((value >>= 7U) != 0) ++size;
  return size;
}

[[nodiscard]] inline uint64_t read_uleb128(ByteCursor& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const unsigned byte = bytes.u8();
    const uint64_t bits = byte & 0x7fU;
    // Padding with zeros is allowed by the standard, ten bytes of it are enough.
    if (shift > 63 || (shift == 63 && bits > 1)) bytes.mark_failed();
    if (!bytes.ok()) return 0;
    value |= bits << shift;
    if ((byte & 0x80U) == 0) return value;
  }
}

[[nodiscard]] inline int64_t read_sleb128(ByteCursor& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const unsigned byte = bytes.u8();
    const uint64_t bits = byte & 0x7fU;
    if (shift > 63 || (shift == 63 && bits != 0 && bits != 0x7f)) bytes.mark_failed();
    if (!bytes.ok()) return 0;
    value |= bits << shift;
    if ((byte & 0x80U) != 0) continue;
    if ((byte & 0x40U) != 0 && shift + 7 < 64) value |= UINT64_MAX << (shift + 7);
    return static_cast<int64_t>(value);
  }
}

}  // namespace jitscope
