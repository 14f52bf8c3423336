// UNSIGNED5: the variable-length numbers of HotSpot's compressed streams (scopes, line tables).
//
// A number is one to five bytes, six bits a step, the lowest first; a byte below 192 ends it. Two
// forms are known: bytes count as they are, or (JVMs in which no encoded byte is zero) each counts
// one less. Nothing that a JVM exports tells which; scope_reader.h says how it is found out.
#pragma once

#include <cstdint>

#include "base/byte_cursor.h"

namespace jitscope::hotspot {

enum class Unsigned5 : uint8_t {
  plain,    // compressedStream.hpp, JDK 8 to 19
  no_zero,  // unsigned5.hpp: a byte of zero is never part of a number
};

// The cursor fails at the end of its bytes and at a zero byte where there can be none. Sums wrap at
// 32 bits, as the JVM's do.
[[nodiscard]] inline uint32_t read_unsigned5(ByteCursor& bytes, Unsigned5 form) {
  constexpr uint32_t kFirstHighCode = 192;
  constexpr unsigned kLastShift = 24;
  const uint32_t excluded = form == Unsigned5::no_zero ? 1 : 0;
  uint32_t sum = 0;
  for (unsigned shift = 0;; shift += 6) {
    const uint32_t byte = bytes.u8();
    if (byte < excluded) bytes.mark_failed();
    if (!bytes.ok()) return 0;
    sum += (byte - excluded) << shift;
    if (byte < kFirstHighCode || shift == kLastShift) return sum;
  }
}

// The same with the sign in the lowest bit (CompressedReadStream::read_signed_int).
[[nodiscard]] inline int32_t read_signed5(ByteCursor& bytes, Unsigned5 form) {
  const uint32_t value = read_unsigned5(bytes, form);
  return static_cast<int32_t>((value >> 1U) ^ (0U - (value & 1U)));
}

}  // namespace jitscope::hotspot
