#include "base/leb128.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

TEST(Leb128, WhatIsWrittenIsRead) {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{1}, uint64_t{0x7f}, uint64_t{0x80}, uint64_t{0x3fff},
        uint64_t{0x4000}, uint64_t{UINT32_MAX}, uint64_t{INT64_MAX}, UINT64_MAX - 1, UINT64_MAX}) {
    std::string bytes;
    put_uleb128(bytes, value);
    EXPECT_EQ(bytes.size(), uleb128_size(value));
    ByteCursor cursor(bytes);
    EXPECT_EQ(read_uleb128(cursor), value);
    EXPECT_TRUE(cursor.ok() && cursor.at_end());
    for (const int64_t sign : {1, -1}) {
      const auto number = static_cast<int64_t>(sign < 0 ? 0 - value : value);
      bytes.clear();
      put_sleb128(bytes, number);
      ByteCursor again(bytes);
      EXPECT_EQ(read_sleb128(again), number);
      EXPECT_TRUE(again.ok() && again.at_end());
    }
  }
}

TEST(Leb128, AsTheStandardHasIt) {
  std::string bytes;
  put_uleb128(bytes, 129);
  put_sleb128(bytes, -129);
  put_sleb128(bytes, 64);
  put_sleb128(bytes, -64);
  EXPECT_EQ(bytes, std::string("\x81\x01\xff\x7e\xc0\x00\x40", 7));
}

TEST(Leb128, NumbersWithoutAnEndOrTooLarge) {
  using namespace std::string_view_literals;
  for (const auto text :
       {""sv, "\x80"sv, "\xff\xff"sv, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv,
        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"sv}) {
    ByteCursor cursor(text);
    EXPECT_EQ(read_uleb128(cursor), 0U);
    EXPECT_FALSE(cursor.ok());
    ByteCursor again(text);
    EXPECT_EQ(read_sleb128(again), 0);
    EXPECT_FALSE(again.ok());
  }
  // Longer than it must be, but not too long.
  ByteCursor padded("\x81\x80\x00"sv);
  EXPECT_EQ(read_uleb128(padded), 1U);
}

}  // namespace
}  // namespace jitscope
