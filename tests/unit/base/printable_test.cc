// Nothing that a terminal would obey, or would not show, passes; all else does, as it is.
#include "base/printable.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"

namespace jitscope {
namespace {

std::string utf8(uint32_t code) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  const auto more = [&](unsigned shift) { return byte(0x80U | (code >> shift & 0x3fU)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0U | code >> 6U), more(0)};
  if (code < 0x10000) return {byte(0xe0U | code >> 12U), more(6), more(0)};
  return {byte(0xf0U | code >> 18U), more(12), more(6), more(0)};
}

TEST(Printable, OrdinaryTextStaysAsItIs) {
  for (const std::string_view text :
       {"", "java.util.HashMap.put(java.lang.Object)", "日本語", "é", "naïve", "😀", "❤️", "Ωμέγα",
        "שלום", "नमस्ते", "a;b \\ 'c' \"d\"", "\\x1b"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
    EXPECT_TRUE(is_printable_lines(text));
  }
}

TEST(Printable, WhatATerminalObeysOrHides) {
  const std::vector<uint32_t> codes = {
      0x00,   0x07,   0x08,   0x0d,   0x1b,   0x7f,   0x80,   0x9b,   0x9f,   0xad,    0x61c,
      0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c,  0x202d,
      0x202e, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069, 0xfeff, 0xfff9, 0x3164, 0xe0041, 0xe007f};
  for (const uint32_t code : codes) {
    const std::string text = "a" + utf8(code) + "b";
    const std::string shown = printable(text);
    EXPECT_EQ(shown.size(), 2 + 4 * utf8(code).size()) << std::hex << code;
    for (const char c : shown) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << std::hex << code;
    EXPECT_EQ(printable_lines(text), shown);
    EXPECT_FALSE(is_printable_lines(text)) << std::hex << code;
    EXPECT_EQ(printable(shown), shown);
  }
  EXPECT_EQ(printable(utf8(0x202e) + "cod.exe"), "\\xe2\\x80\\xaecod.exe");
}

TEST(Printable, BytesThatAreNoUtf8) {
  for (int byte = 0x80; byte < 0x100; ++byte) {
    const std::string text = "x" + std::string(1, static_cast<char>(byte)) + "y";
    EXPECT_EQ(printable(text).size(), 6U) << byte;
    EXPECT_FALSE(is_printable_lines(text)) << byte;
  }
  // Cut characters do not join with what comes next.
  EXPECT_EQ(printable("\xc2"), "\\xc2");
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");
}

TEST(Printable, LinesKeepTheirEnds) {
  EXPECT_EQ(printable("a\tb\n"), "a\\x09b\\x0a");
  EXPECT_EQ(printable_lines("a\tb\n\x1b\n\n"), "a\tb\n\\x1b\n\n");
  EXPECT_EQ(printable_lines("a\r\n"), "a\\x0d\n");
  EXPECT_TRUE(is_printable_lines("a\tb\n"));
}

TEST(Printable, AtEveryPlaceOfALongText) {
  for (const std::string_view bad : {"\x1b", "\x7f", "\xc2\x9b", "\x9b", "\xe2\x80\xae"}) {
    for (size_t at = 0; at <= 2200; at += at < 80 || (at > 1000 && at < 1100) ? 1 : 37) {
      std::string text(2200, 'x');
      text.insert(at, bad);
      EXPECT_FALSE(is_printable_lines(text)) << at;
      EXPECT_EQ(printable_lines(text), printable(text)) << at;
    }
  }
  std::string long_text;
  while (long_text.size() < 5000) long_text += "\t日本.é+0x12 (x)\n";
  EXPECT_TRUE(is_printable_lines(long_text));
}

// What is said to be printable is what does not change, for any bytes.
TEST(Printable, RandomBytes) {
  std::mt19937 random(11);
  const std::vector<std::string> pieces = {
      "\x1b", "\xc2", "\x9b",       "\xe2\x80",         "\xae",     "é",
      "日",   "\n",   "plain text", "\xf3\xa0\x81\x81", "\xcd\x8f", std::string(70, 'y')};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (size_t i = random() % 6; i-- > 0;) text += pieces[random() % pieces.size()];
    const std::string shown = printable_lines(text);
    EXPECT_EQ(is_printable_lines(text), shown == text);
    EXPECT_TRUE(is_printable_lines(shown));
    for (std::string_view rest = shown; !rest.empty(); rest.remove_prefix(utf8_length(rest))) {
      ASSERT_NE(utf8_length(rest), 0U);
    }
  }
}

}  // namespace
}  // namespace jitscope
