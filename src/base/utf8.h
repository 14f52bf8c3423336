// UTF-8 as RFC 3629 defines it, for texts of strangers: what is well formed and what is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace jitscope {

// Length of the well-formed sequence at the start of `text`, 0 when there is none.
[[nodiscard]] constexpr size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  size_t length = 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) length = 2;
  if (lead >= 0xe0 && lead <= 0xef) length = 3;
  if (lead >= 0xf0 && lead <= 0xf4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;  // overlong
  if (lead == 0xed && byte(1) > 0x9f) return 0;  // surrogates
  if (lead == 0xf0 && byte(1) < 0x90) return 0;  // overlong
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;  // beyond U+10FFFF
  return length;
}

// The character of a well-formed sequence, which has this `length`.
[[nodiscard]] constexpr uint32_t utf8_code(std::string_view text, size_t length) {
  uint32_t code = static_cast<unsigned char>(text[0]);
  if (length > 1) code &= 0x7fU >> length;
  for (size_t i = 1; i < length; ++i) {
    code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  return code;
}

}  // namespace jitscope
