#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "base/utf8.h"

namespace jitscope {
namespace {

struct CodeRange {
  uint32_t first;
  uint32_t last;
};

// Unicode's Default_Ignorable_Code_Point without the variation selectors (emoji have them), Cc,
// Bidi_Control, Zl, Zp, and the annotation marks. Sorted.
constexpr auto kNotShown = std::to_array<CodeRange>({
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
    {0x061c, 0x061c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
    {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff}, {0xe01f0, 0xe0fff},
});

bool is_shown(uint32_t code) {
  const auto* range =
      std::ranges::lower_bound(kNotShown, code, std::ranges::less(), &CodeRange::last);
  return range == kNotShown.end() || code < range->first;
}

// Whether all bytes of a block are ASCII of lines. The compiler makes vector instructions of it.
template <size_t kSize>
bool is_plain_block(std::string_view bytes) {
  unsigned char other = 0;
  for (size_t i = 0; i < kSize; ++i) {
    const auto c = static_cast<signed char>(bytes[i]);
    const auto control = static_cast<unsigned char>(c < 0x20);  // what is no ASCII is negative
    const auto line = static_cast<unsigned char>(c == '\n' || c == '\t');
    other |= static_cast<unsigned char>(c == 0x7f) | (control & ~line);
  }
  return other == 0;
}

bool is_plain(char c) {
  return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
}

constexpr size_t kLarge = 1024;
constexpr size_t kSmall = 16;

// How much of the start is ASCII of lines.
size_t plain_length(std::string_view text) {
  size_t at = 0;
  while (text.size() - at >= kSmall && is_plain_block<kSmall>(text.substr(at))) at += kSmall;
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
  }
}

}  // namespace

NextCharacter next_character(std::string_view text) {
  if (text.empty()) return {};
  const size_t length = utf8_length(text);
  if (length == 0) return {1, false};
  return {length, is_shown(utf8_code(text, length))};
}

void append_printable(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto ascii = [](char c) { return c >= 0x20 && c < 0x7f; };
    const auto plain =
        static_cast<size_t>(std::distance(text.begin(), std::ranges::find_if_not(text, ascii)));
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    const auto [length, shown] = next_character(text);
    if (shown) {
      out += text.substr(0, length);
    } else {
      append_escaped(out, text.substr(0, length));
    }
    text.remove_prefix(length);
  }
}

std::string printable(std::string_view text) {
  std::string out;
  append_printable(out, text);
  return out;
}

bool is_printable_lines(std::string_view text) {
  while (true) {
    while (text.size() >= kLarge && is_plain_block<kLarge>(text)) text.remove_prefix(kLarge);
    // Character by character to the end of the block that holds another one.
    const size_t behind = text.size() - std::min(text.size(), kLarge);
    while (text.size() > behind) {
      text.remove_prefix(plain_length(text));
      const auto [length, shown] = next_character(text);
      if (!shown && length != 0) return false;
      text.remove_prefix(length);
    }
    if (text.empty()) return true;
  }
}

std::string printable_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t plain = plain_length(text);
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    const size_t rest = std::min(text.find_first_of("\n\t"), text.size());
    append_printable(out, text.substr(0, rest));
    text.remove_prefix(rest);
  }
  return out;
}

}  // namespace jitscope
