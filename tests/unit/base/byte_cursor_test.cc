// ByteCursor at its edges: every read with one byte too few, counts near 2^64, the sticky error.
#include "base/byte_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace jitscope {
namespace {

constexpr uint64_t huge = std::numeric_limits<uint64_t>::max();

std::vector<std::byte> counting(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

std::span<const std::byte> view(const std::vector<std::byte>& bytes) {
  return bytes;
}

// A T from just enough bytes, from one too few, and in the other byte order.
template <std::unsigned_integral T>
void check_edge() {
  const auto bytes = counting(sizeof(T));
  ByteCursor whole{view(bytes)};
  T expected = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    expected = static_cast<T>(static_cast<uint64_t>(expected) << 8U | (i + 1));
  }
  EXPECT_EQ(whole.read<T>(), expected);
  EXPECT_TRUE(whole.ok());
  EXPECT_TRUE(whole.at_end());
  EXPECT_EQ(whole.remaining(), 0U);

  ByteCursor short_by_one{view(bytes).first(sizeof(T) - 1)};
  EXPECT_EQ(short_by_one.read<T>(), 0U);
  EXPECT_FALSE(short_by_one.ok());
  EXPECT_EQ(short_by_one.offset(), 0U);
  EXPECT_EQ(short_by_one.failed_want(), sizeof(T));

  ByteCursor big(view(bytes), std::endian::big);
  T reversed = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    reversed = static_cast<T>(static_cast<uint64_t>(reversed) << 8U | (i + 1));
  }
  EXPECT_EQ(big.read<T>(), reversed);
}

TEST(ByteCursor, ReadsUpToTheLastByteAndNotBeyond) {
  check_edge<uint8_t>();
  check_edge<uint16_t>();
  check_edge<uint32_t>();
  check_edge<uint64_t>();
}

TEST(ByteCursor, SignedReadsKeepTheSign) {
  const std::vector<std::byte> ones(15, std::byte{0xff});
  ByteCursor cursor{view(ones)};
  EXPECT_EQ(cursor.i8(), -1);
  EXPECT_EQ(cursor.i16(), -1);
  EXPECT_EQ(cursor.i32(), -1);
  EXPECT_EQ(cursor.i64(), -1);
  EXPECT_TRUE(cursor.ok());
  EXPECT_TRUE(cursor.at_end());
}

TEST(ByteCursor, NoBytesAtAll) {
  ByteCursor empty;
  EXPECT_TRUE(empty.ok());
  EXPECT_TRUE(empty.at_end());
  EXPECT_TRUE(empty.rest().empty());
  EXPECT_TRUE(empty.line().empty());
  EXPECT_TRUE(empty.bytes(0).empty());
  EXPECT_TRUE(empty.slice(0).ok());
  empty.seek(0);
  empty.align(4096);
  EXPECT_TRUE(empty.ok());
  EXPECT_TRUE(empty.c_string().empty());
  EXPECT_FALSE(empty.ok());
}

TEST(ByteCursor, TheFirstErrorSticks) {
  const auto bytes = counting(8);
  ByteCursor cursor{view(bytes)};
  cursor.skip(6);
  EXPECT_EQ(cursor.u32(), 0U);  // 2 are there
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.failed_offset(), 6U);
  EXPECT_EQ(cursor.failed_want(), 4U);
  // What would have been possible is not, any more; and the first failure stays the one reported.
  EXPECT_EQ(cursor.u8(), 0U);
  EXPECT_TRUE(cursor.bytes(1).empty());
  EXPECT_FALSE(cursor.slice(1).ok());
  EXPECT_TRUE(cursor.rest().empty());
  EXPECT_TRUE(cursor.line().empty());
  cursor.seek(0);
  cursor.align(4);
  cursor.mark_failed(99);
  EXPECT_EQ(cursor.offset(), 6U);
  EXPECT_EQ(cursor.failed_offset(), 6U);
  EXPECT_EQ(cursor.failed_want(), 4U);

  const Error error = cursor.error("a header", "/tmp/file");
  EXPECT_EQ(error.kind, ErrorKind::damaged);
  EXPECT_EQ(error.where, "/tmp/file");
  EXPECT_EQ(error.what, "a header: needs 4 bytes at offset 0x6, 2 are there");
}

TEST(ByteCursor, CountsNearTheLargestNumberDoNotWrap) {
  const auto bytes = counting(16);
  for (const uint64_t count :
       {huge, huge - 1, huge - 7, huge - 15, uint64_t{1} << 63U, uint64_t{9}}) {
    ByteCursor cursor{view(bytes)};
    cursor.skip(8);
    EXPECT_TRUE(cursor.bytes(count).empty());
    EXPECT_FALSE(cursor.ok());
    EXPECT_EQ(cursor.offset(), 8U);
    EXPECT_EQ(cursor.failed_want(), count);

    ByteCursor slicing{view(bytes)};
    slicing.skip(8);
    ByteCursor slice = slicing.slice(count);
    EXPECT_FALSE(slice.ok());
    EXPECT_EQ(slice.size(), 0U);
    EXPECT_FALSE(slicing.ok());
    EXPECT_EQ(slice.u8(), 0U);

    ByteCursor skipping{view(bytes)};
    skipping.skip(8);
    skipping.skip(count);
    EXPECT_FALSE(skipping.ok());
  }
}

TEST(ByteCursor, SeekReachesTheEndAndNotBeyond) {
  const auto bytes = counting(4);
  ByteCursor cursor{view(bytes)};
  cursor.seek(4);
  EXPECT_TRUE(cursor.ok());
  EXPECT_TRUE(cursor.at_end());
  cursor.seek(1);
  EXPECT_EQ(cursor.u8(), 2U);
  cursor.seek(5);
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.offset(), 2U);

  ByteCursor far{view(bytes)};
  far.seek(huge);
  EXPECT_FALSE(far.ok());
}

TEST(ByteCursor, AlignCountsFromItsOwnStart) {
  const auto bytes = counting(16);
  ByteCursor cursor{view(bytes)};
  cursor.align(8);
  EXPECT_EQ(cursor.offset(), 0U);
  cursor.skip(1);
  cursor.align(1);
  EXPECT_EQ(cursor.offset(), 1U);
  cursor.align(4);
  EXPECT_EQ(cursor.offset(), 4U);
  cursor.align(4);
  EXPECT_EQ(cursor.offset(), 4U);

  ByteCursor slice = cursor.slice(7);
  slice.skip(1);
  slice.align(4);
  EXPECT_EQ(slice.offset(), 4U);
  EXPECT_EQ(slice.u8(), 9U);
  slice.align(8);  // 8 is behind its 7 bytes
  EXPECT_FALSE(slice.ok());

  ByteCursor end{view(bytes).first(3)};
  end.skip(3);
  end.align(uint64_t{1} << 63U);
  EXPECT_FALSE(end.ok());
}

TEST(ByteCursor, ASliceEndsWhereItEndsAndKeepsTheByteOrder) {
  const auto bytes = counting(8);
  ByteCursor cursor(view(bytes), std::endian::big);
  ByteCursor slice = cursor.slice(2);
  EXPECT_EQ(cursor.offset(), 2U);
  EXPECT_EQ(slice.u16(), 0x0102U);
  EXPECT_EQ(slice.u8(), 0U);
  EXPECT_FALSE(slice.ok());
  EXPECT_TRUE(cursor.ok());  // a damaged part does not spoil what lies behind it
  EXPECT_EQ(cursor.u16(), 0x0304U);
}

TEST(ByteCursor, StringsEndAtNulOrFail) {
  using namespace std::string_view_literals;
  ByteCursor cursor("ab\0\0cd"sv);
  EXPECT_EQ(cursor.c_string(), "ab");
  EXPECT_EQ(cursor.c_string(), "");
  EXPECT_TRUE(cursor.ok());
  EXPECT_EQ(cursor.c_string(), "");
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.offset(), 4U);

  ByteCursor limited("abc\0"sv);
  EXPECT_EQ(limited.c_string(3), "");
  EXPECT_FALSE(limited.ok());
  ByteCursor enough("abc\0"sv);
  EXPECT_EQ(enough.c_string(4), "abc");
  ByteCursor none("abc\0"sv);
  EXPECT_EQ(none.c_string(0), "");
  EXPECT_FALSE(none.ok());
}

TEST(ByteCursor, Lines) {
  ByteCursor cursor("one\n\nthree");
  EXPECT_EQ(cursor.line(), "one");
  EXPECT_EQ(cursor.line(), "");
  EXPECT_FALSE(cursor.at_end());
  EXPECT_EQ(cursor.line(), "three");
  EXPECT_TRUE(cursor.at_end());
  EXPECT_EQ(cursor.line(), "");
  EXPECT_TRUE(cursor.ok());

  ByteCursor closed("last\n");
  EXPECT_EQ(closed.line(), "last");
  EXPECT_TRUE(closed.at_end());
}

TEST(ByteCursor, RestIsWhatIsLeft) {
  const auto bytes = counting(5);
  ByteCursor cursor{view(bytes)};
  cursor.skip(3);
  EXPECT_THAT(cursor.rest(), testing::ElementsAre(std::byte{4}, std::byte{5}));
  EXPECT_TRUE(cursor.rest().empty());
  EXPECT_TRUE(cursor.ok());
}

TEST(CheckedArithmetic, SaysWhenItWouldWrap) {
  EXPECT_EQ(checked_add(huge, 0), huge);
  EXPECT_EQ(checked_add(huge - 1, 1), huge);
  EXPECT_EQ(checked_add(huge, 1), std::nullopt);
  EXPECT_EQ(checked_add(uint64_t{1} << 63U, uint64_t{1} << 63U), std::nullopt);
  EXPECT_EQ(checked_multiply(huge, 1), huge);
  EXPECT_EQ(checked_multiply(huge, 0), 0U);
  EXPECT_EQ(checked_multiply(uint64_t{1} << 32U, uint64_t{1} << 31U), uint64_t{1} << 63U);
  EXPECT_EQ(checked_multiply(uint64_t{1} << 32U, uint64_t{1} << 32U), std::nullopt);
  EXPECT_EQ(checked_multiply(huge, 2), std::nullopt);
}

TEST(ParseHex, TheWholeTextOrNothing) {
  EXPECT_EQ(parse_hex("0"), 0U);
  EXPECT_EQ(parse_hex("7fFf"), 0x7fffU);
  EXPECT_EQ(parse_hex("0x1f"), 0x1fU);
  EXPECT_EQ(parse_hex("0X1F"), 0x1fU);
  EXPECT_EQ(parse_hex("ffffffffffffffff"), huge);
  EXPECT_EQ(parse_hex("000000000000000000000001"), 1U);
  for (const char* text : {"", "0x", "0X", "x1", "-1", "+1", "0x-1", "0x+1", " 1", "1 ", "1g",
                           "0x0x1", "10000000000000000", "0xffffffffffffffff0", "1.0"}) {
    EXPECT_EQ(parse_hex(text), std::nullopt) << '"' << text << '"';
  }
  EXPECT_EQ(parse_hex(std::string_view("1\0", 2)), std::nullopt);
}

TEST(ParseDecimal, TheWholeTextOrNothing) {
  EXPECT_EQ(parse_decimal("0"), 0U);
  EXPECT_EQ(parse_decimal("18446744073709551615"), huge);
  EXPECT_EQ(parse_decimal("007"), 7U);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "0x1", "a", "1e3", "18446744073709551616",
                           "99999999999999999999"}) {
    EXPECT_EQ(parse_decimal(text), std::nullopt) << '"' << text << '"';
  }
}

}  // namespace
}  // namespace jitscope
