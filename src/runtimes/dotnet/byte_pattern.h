// Bytes of which some are given and some may be anything, written as hexadecimal digits:
// "48b8???????????????? ffe0". Blanks separate nothing but what people read.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace jitscope {

// How many bytes a pattern describes.
[[nodiscard]] constexpr size_t pattern_size(std::string_view pattern) {
  size_t digits = 0;
  for (const char c : pattern) digits += c != ' ' ? 1 : 0;
  return digits / 2;
}

// Whether the bytes begin as the pattern says.
[[nodiscard]] constexpr bool begins_as(std::span<const std::byte> bytes, std::string_view pattern) {
  const auto digit = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  size_t at = 0;
  for (size_t i = 0; i < pattern.size();) {
    if (pattern[i] == ' ') {
      ++i;
      continue;
    }
    if (at == bytes.size()) return false;
    if (pattern[i] != '?') {
      const unsigned value = digit(pattern[i]) << 4U | digit(pattern[i + 1]);
      if (std::to_integer<unsigned>(bytes[at]) != value) return false;
    }
    ++at;
    i += 2;
  }
  return true;
}

}  // namespace jitscope
