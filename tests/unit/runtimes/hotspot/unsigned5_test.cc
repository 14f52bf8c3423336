#include "runtimes/hotspot/unsigned5.h"

#include <gtest/gtest.h>

#include "scope_stream.h"

namespace jitscope::hotspot::test {
namespace {

constexpr Unsigned5 kForms[] = {Unsigned5::plain, Unsigned5::no_zero};

uint32_t read(std::string_view text, Unsigned5 form, bool& ok) {
  ByteCursor bytes(text);
  const uint32_t value = read_unsigned5(bytes, form);
  ok = bytes.ok() && bytes.at_end();
  return value;
}

TEST(Unsigned5, KnownBytes) {
  struct Case {
    std::string bytes;
    Unsigned5 form;
    uint32_t value;
  };
  const std::vector<Case> cases = {
      {std::string(1, '\0'), Unsigned5::plain, 0},
      {"\xbf", Unsigned5::plain, 191},
      {std::string("\xc0\0", 2), Unsigned5::plain, 192},
      {"\xc1\x01", Unsigned5::plain, 193 + 64},
      {"\xff\xff\xff\xff\x05", Unsigned5::plain,
       255 + (255 << 6) + (255 << 12) + (255 << 18) + (5 << 24)},
      {"\x01", Unsigned5::no_zero, 0},
      {"\xbf", Unsigned5::no_zero, 190},
      {"\xc0\x01", Unsigned5::no_zero, 191},
      {"\xc1\x02", Unsigned5::no_zero, 192 + 64},
  };
  for (const Case& each : cases) {
    bool ok = false;
    EXPECT_EQ(read(each.bytes, each.form, ok), each.value);
    EXPECT_TRUE(ok) << each.value;
  }
}

TEST(Unsigned5, WhatIsWrittenIsRead) {
  for (const Unsigned5 form : kForms) {
    for (const uint32_t value : {0U, 1U, 63U, 190U, 191U, 192U, 255U, 256U, 12478U, 12479U, 12480U,
                                 1U << 20U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
      std::string bytes;
      put_unsigned5(bytes, value, form);
      bool ok = false;
      EXPECT_EQ(read(bytes, form, ok), value);
      EXPECT_TRUE(ok) << value;
      EXPECT_LE(bytes.size(), 5U);
    }
    for (const int32_t value : {0, 1, -1, 95, -96, 100000, -100000, INT32_MAX, INT32_MIN}) {
      std::string bytes;
      put_signed5(bytes, value, form);
      ByteCursor cursor(bytes);
      EXPECT_EQ(read_signed5(cursor, form), value);
      EXPECT_TRUE(cursor.ok() && cursor.at_end());
    }
  }
}

TEST(Unsigned5, FiveBytesAreTheMost) {
  ByteCursor bytes("\xff\xff\xff\xff\xff\x01");
  (void)read_unsigned5(bytes, Unsigned5::plain);
  EXPECT_TRUE(bytes.ok());
  EXPECT_EQ(bytes.offset(), 5U);
}

TEST(Unsigned5, CutShortOrZeroWhereThereIsNone) {
  for (const Unsigned5 form : kForms) {
    for (const std::string_view text : {"", "\xc0", "\xff\xff\xff\xff"}) {
      bool ok = true;
      EXPECT_EQ(read(text, form, ok), 0U);
      EXPECT_FALSE(ok);
    }
  }
  bool ok = true;
  EXPECT_EQ(read(std::string_view("\0", 1), Unsigned5::no_zero, ok), 0U);
  EXPECT_FALSE(ok);
  EXPECT_EQ(read(std::string_view("\xc0\0", 2), Unsigned5::no_zero, ok), 0U);
  EXPECT_FALSE(ok);
}

}  // namespace
}  // namespace jitscope::hotspot::test
