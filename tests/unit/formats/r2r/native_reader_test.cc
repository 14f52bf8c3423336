#include "formats/r2r/native_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/r2r_builder.h"

namespace jitscope {
namespace {

using test::bytes_of;

std::span<const std::byte> span_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(NativeReader, Numbers) {
  for (const uint32_t value : {0U, 1U, 0x7fU, 0x80U, 0x3fffU, 0x4000U, 0x1fffffU, 0x200000U,
                               0xfffffffU, 0x10000000U, 0xffffffffU}) {
    const std::string bytes = test::native_number(value);
    ByteCursor cursor(bytes);
    EXPECT_EQ(native_unsigned(cursor), value);
    EXPECT_TRUE(cursor.ok() && cursor.at_end()) << value;
    for (size_t size = 0; size < bytes.size(); ++size) {
      ByteCursor cut(std::string_view(bytes).substr(0, size));
      (void)native_unsigned(cut);
      EXPECT_FALSE(cut.ok());
    }
  }
  for (const int32_t value :
       {0,        1,         -1,         63,        -64,       64,       -65,
        8191,     -8192,     8192,       -8193,     1048575,   -1048576, 1048576,
        -1048577, 134217727, -134217728, 134217728, INT32_MAX, INT32_MIN}) {
    const std::string bytes = test::native_signed_number(value);
    ByteCursor cursor(bytes);
    EXPECT_EQ(native_signed(cursor), value);
    EXPECT_TRUE(cursor.ok() && cursor.at_end()) << value;
  }
  // The document's own examples.
  for (const auto& [bytes, value] :
       {std::pair{bytes_of({0x00}), 0U}, std::pair{bytes_of({0xfe}), 127U},
        std::pair{bytes_of({0x01, 0x02}), 128U},
        std::pair{bytes_of({0x0f, 1, 2, 3, 4}), 0x04030201U}}) {
    ByteCursor cursor(bytes);
    EXPECT_EQ(native_unsigned(cursor), value);
  }
  const std::string no_such = bytes_of({0x1f, 0, 0, 0, 0});
  ByteCursor cursor(no_such);
  (void)native_unsigned(cursor);
  EXPECT_FALSE(cursor.ok());
}

TEST(NativeArray, Elements) {
  for (const bool leaves : {true, false}) {
    for (const int entry_size : {0, 1, 2}) {
      test::NativeArrayBuilder builder;
      builder.leaves = leaves;
      builder.entry_size = entry_size;
      for (const uint32_t index : {0U, 1U, 2U, 7U, 15U, 21U, 48U, 49U, 63U}) {
        builder.elements[index] = std::string(1, static_cast<char>(index + 1));
      }
      const std::string bytes = builder.build();
      const auto array = NativeArray::read(span_of(bytes));
      ASSERT_TRUE(array);
      EXPECT_EQ(array->size(), 64U);
      for (uint32_t index = 0; index < 70; ++index) {
        auto element = array->at(index);
        ASSERT_EQ(element.has_value(), builder.elements.contains(index)) << index;
        if (element) {
          EXPECT_EQ(element->u8(), index + 1);
        }
      }
    }
  }
}

TEST(NativeArray, DamagedOnes) {
  EXPECT_FALSE(NativeArray::read({}));
  const std::string unknown = test::native_number(16U << 2U | 3U) + std::string(64, '\0');
  EXPECT_FALSE(NativeArray::read(span_of(unknown))) << "entries of 8 bytes";
  const std::string large = test::native_number(0xffffffffU & ~3U) + std::string(64, '\0');
  EXPECT_FALSE(NativeArray::read(span_of(large))) << "more blocks than bytes";
  const std::string far = test::native_number(16U << 2U | 2U) + bytes_of({0xff, 0xff, 0xff, 0xff});
  const auto array = NativeArray::read(span_of(far));
  ASSERT_TRUE(array);
  EXPECT_FALSE(array->at(3));
}

std::vector<std::string> entries(const std::string& bytes, uint64_t offset, uint64_t size,
                                 bool* ok = nullptr) {
  std::vector<std::string> out;
  const Status status = each_native_entry(span_of(bytes), offset, size, [&](ByteCursor& cursor) {
    out.emplace_back(cursor.c_string());
    return Status{};
  });
  if (ok != nullptr) *ok = status.has_value();
  return out;
}

TEST(NativeHashTable, Entries) {
  const std::vector<std::string> texts = {"one", "two", "three", "four", "five"};
  std::vector<std::string> ended;
  for (const std::string& each : texts) ended.push_back(each + '\0');
  const std::string table = test::native_hash_table(ended);
  bool ok = false;
  EXPECT_EQ(entries(table, 0, table.size(), &ok), texts);
  EXPECT_TRUE(ok);
  EXPECT_EQ(entries("before it" + table, 9, table.size()), texts);

  // An entry in front of the table, in cells of one byte.
  const std::string before =
      std::string("back\0", 5) + bytes_of({0, 2, 4, 0x77}) + test::native_signed_number(-9);
  EXPECT_EQ(entries(before, 5, before.size() - 5), std::vector<std::string>{"back"});
}

TEST(NativeHashTable, AnErrorEndsIt) {
  const std::string table = test::native_hash_table({"a", "b", "c"});
  int calls = 0;
  const Status status = each_native_entry(span_of(table), 0, table.size(), [&](ByteCursor&) {
    ++calls;
    return Status(fail(ErrorKind::damaged, "enough"));
  });
  EXPECT_EQ(calls, 1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().what, "enough");
}

TEST(NativeHashTable, DamagedOnes) {
  for (const std::string& bad :
       {std::string(), bytes_of({3}),                 // cells of 8 bytes
        bytes_of({0x80}),                             // 2^32 buckets
        bytes_of({31 << 2, 0, 0}),                    // more buckets than bytes
        bytes_of({0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0}),  // a bucket that ends before it begins
        bytes_of({0, 2, 200, 0, 2}),                  // or behind the bytes
        bytes_of({0, 2, 4, 0x77, 0x7e}),              // an entry behind them
        bytes_of({0, 2, 4, 0x77, 0x80})}) {           // or in front
    bool ok = true;
    (void)entries(bad, 0, bad.size(), &ok);
    EXPECT_FALSE(ok) << testing::PrintToString(bad);
  }
  const std::string table = test::native_hash_table({"a"});
  bool ok = true;
  (void)entries(table, 1000, 10, &ok);
  EXPECT_FALSE(ok);
}

}  // namespace
}  // namespace jitscope
