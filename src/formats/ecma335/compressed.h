// Compressed integers of signatures and blobs (ECMA-335, II.23.2): 1, 2 or 4 bytes.
#pragma once

#include <cstdint>

#include "base/byte_cursor.h"

namespace jitscope {

inline uint32_t compressed_uint(ByteCursor& cursor) {
  const uint32_t first = cursor.u8();
  if ((first & 0x80U) == 0) return first;
  if ((first & 0x40U) == 0) return (first & 0x3fU) << 8U | cursor.u8();
  if ((first & 0x20U) != 0) {
    cursor.mark_failed();
    return 0;
  }
  const uint32_t second = cursor.u8();
  const uint32_t third = cursor.u8();
  return (first & 0x1fU) << 24U | second << 16U | third << 8U | cursor.u8();
}

// The sign is the lowest bit, rotated there within the width that the bytes have.
inline int32_t compressed_int(ByteCursor& cursor) {
  const size_t before = cursor.offset();
  const uint32_t raw = compressed_uint(cursor);
  const size_t size = cursor.offset() - before;
  const uint32_t bits = size == 1 ? 6 : size == 2 ? 13 : 28;
  const auto value = static_cast<int32_t>(raw >> 1U);
  return (raw & 1U) == 0 ? value : value - static_cast<int32_t>(1U << bits);
}

}  // namespace jitscope
