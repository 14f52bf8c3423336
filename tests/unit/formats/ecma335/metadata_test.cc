#include "formats/ecma335/metadata.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "formats/ecma335/compressed.h"
#include "formats/ecma335/type_path.h"
#include "support/ecma_builder.h"

namespace jitscope {
namespace {

using test::bytes_of;
using test::EcmaBuilder;

std::span<const std::byte> span_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

EcmaBuilder sample() {
  EcmaBuilder out;
  out.module("Sample.dll");
  out.assembly("Sample");
  const uint32_t runtime = out.assembly_ref("System.Runtime");
  const uint32_t outer_ref =
      out.type_ref(EcmaBuilder::in_assembly(runtime), "System", "Environment");
  out.type_ref(EcmaBuilder::in_type_ref(outer_ref), "", "SpecialFolder");
  out.type_def("", "<Module>");
  const uint32_t list = out.type_def("My.Space", "List`1");
  out.method("Add", bytes_of({0x20, 1, 1, 0x13, 0}));
  out.method(".ctor", bytes_of({0x20, 0, 1}));
  out.type_def("My.Space", "Empty");
  const uint32_t inner = out.type_def("", "Enumerator");
  out.method("MoveNext", bytes_of({0x20, 0, 2}));
  out.nested(inner, list);
  out.type_parameter(list, 0, "T");
  out.type_spec(bytes_of({0x15, 0x12, 8, 1, 0x0e}));
  out.member_ref(EcmaBuilder::parent_ref(1), "get_NewLine", bytes_of({0, 0, 0x0e}));
  return out;
}

TEST(EcmaMetadata, Rows) {
  for (const bool wide : {false, true}) {
    EcmaBuilder builder = sample();
    builder.wide_heaps = wide;
    const std::string bytes = builder.build();
    const auto metadata = EcmaMetadata::parse(span_of(bytes));
    ASSERT_TRUE(metadata) << to_string(metadata.error());
    EXPECT_EQ(metadata->assembly_name(), "Sample");
    EXPECT_EQ(metadata->rows(EcmaTable::method_def), 3U);
    EXPECT_EQ(metadata->rows(EcmaTable::none), 0U);
    const EcmaMember add = metadata->method(1);
    EXPECT_EQ(add.name, "Add");
    EXPECT_EQ(add.signature.size(), 5U);
    EXPECT_EQ(add.owner, (EcmaToken{EcmaTable::type_def, 2}));
    EXPECT_EQ(metadata->method(2).owner.row, 2U);
    EXPECT_EQ(metadata->method(3).owner.row, 4U) << "not the one without methods before it";
    EXPECT_EQ(metadata->type_name({EcmaTable::type_def, 2}).space, "My.Space");
    EXPECT_EQ(metadata->type_name({EcmaTable::type_def, 2}).name, "List`1");
    EXPECT_EQ(metadata->scope({EcmaTable::type_def, 4}), (EcmaToken{EcmaTable::type_def, 2}));
    EXPECT_FALSE(metadata->scope({EcmaTable::type_def, 3}));
    EXPECT_EQ(metadata->scope({EcmaTable::type_ref, 2}), (EcmaToken{EcmaTable::type_ref, 1}));
    EXPECT_EQ(metadata->name(metadata->scope({EcmaTable::type_ref, 1})), "System.Runtime");
    EXPECT_EQ(metadata->type_parameter({EcmaTable::type_def, 2}, 0), "T");
    EXPECT_EQ(metadata->type_parameter({EcmaTable::type_def, 2}, 1), "");
    EXPECT_EQ(metadata->type_parameter({EcmaTable::type_def, 3}, 0), "");
    EXPECT_EQ(metadata->type_spec(1).size(), 5U);
    EXPECT_EQ(metadata->member_ref(1).name, "get_NewLine");
    EXPECT_EQ(metadata->member_ref(1).owner, (EcmaToken{EcmaTable::type_ref, 1}));
    ASSERT_TRUE(metadata->mvid());
    EXPECT_EQ(metadata->mvid()->at(0), std::byte{'0'});
  }
}

TEST(EcmaMetadata, WhatIsNotThereIsEmpty) {
  const std::string bytes = sample().build();
  const auto metadata = EcmaMetadata::parse(span_of(bytes));
  ASSERT_TRUE(metadata);
  for (const uint32_t row : {0U, 100U, UINT32_MAX}) {
    EXPECT_EQ(metadata->method(row).name, "");
    EXPECT_EQ(metadata->member_ref(row).name, "");
    EXPECT_TRUE(metadata->type_spec(row).empty());
    EXPECT_EQ(metadata->type_name({EcmaTable::type_def, row}).name, "");
    EXPECT_FALSE(metadata->scope({EcmaTable::type_ref, row}));
    EXPECT_EQ(metadata->type_parameter({EcmaTable::type_def, row}, row), "");
    EXPECT_EQ(metadata->name({EcmaTable::assembly_ref, row}), "");
  }
  EXPECT_EQ(metadata->name({EcmaTable::type_def, 1}), "");
  EXPECT_EQ(type_def_or_ref(3).table, EcmaTable::none);
}

TEST(EcmaMetadata, ManyRowsWidenTheColumnsThatPointToThem) {
  EcmaBuilder builder;
  builder.wide_heaps = true;
  builder.module("Many.dll");
  builder.type_def("", "<Module>");
  for (int i = 0; i < 70000; ++i) builder.method("M", "");
  builder.type_def("", "Last");
  builder.method("Wanted", "");
  const std::string bytes = builder.build();
  const auto metadata = EcmaMetadata::parse(span_of(bytes));
  ASSERT_TRUE(metadata) << to_string(metadata.error());
  EXPECT_EQ(metadata->method(70000).owner.row, 1U);
  EXPECT_EQ(metadata->method(70001).owner.row, 2U);
  EXPECT_EQ(metadata->method(70001).name, "Wanted");
}

TEST(EcmaMetadata, CutShortAnywhere) {
  EcmaBuilder builder = sample();
  const std::string bytes = builder.build();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    const auto metadata = EcmaMetadata::parse(span_of(cut));
    ASSERT_FALSE(metadata) << size;
    EXPECT_EQ(metadata.error().kind, ErrorKind::damaged);
  }
  std::string of_editing = bytes;
  of_editing.replace(of_editing.find("#~"), 2, "#-");
  const auto metadata = EcmaMetadata::parse(span_of(of_editing));
  ASSERT_FALSE(metadata);
  EXPECT_EQ(metadata.error().kind, ErrorKind::not_possible);
}

TEST(EcmaMetadata, MoreRowsThanBytes) {
  const std::string bytes = sample().build();
  const size_t tables = bytes.find("#~") - 8;
  uint32_t at = 0;
  std::memcpy(&at, bytes.data() + tables, 4);
  for (size_t table = 0; table < 5; ++table) {
    std::string damaged = bytes;
    test::overwrite(damaged, at + 24 + 4 * table, 0xffffffff, 4);
    EXPECT_FALSE(EcmaMetadata::parse(span_of(damaged))) << table;
  }
}

TEST(EcmaMetadata, TypesThatLieInEachOther) {
  EcmaBuilder builder;
  builder.type_def("", "A");
  builder.type_def("", "B");
  builder.nested(1, 2);
  builder.nested(2, 1);
  builder.type_ref(EcmaBuilder::in_type_ref(1), "", "Itself");
  const std::string bytes = builder.build();
  const auto metadata = EcmaMetadata::parse(span_of(bytes));
  ASSERT_TRUE(metadata);
  EXPECT_TRUE(type_path(*metadata, {EcmaTable::type_def, 1}).types.empty());
  EXPECT_TRUE(type_path(*metadata, {EcmaTable::type_ref, 1}).types.empty());
}

TEST(TypePath, Spellings) {
  EcmaBuilder builder = sample();
  builder.type_def("Od,d", "A+B*[c]&\\");
  const std::string bytes = builder.build();
  const auto metadata = EcmaMetadata::parse(span_of(bytes));
  ASSERT_TRUE(metadata);
  const auto spelled = [&](uint32_t row, std::vector<std::string> arguments,
                           EcmaSpelling spelling) {
    std::string out;
    EXPECT_TRUE(append_type_name(out, *metadata, type_path(*metadata, {EcmaTable::type_def, row}),
                                 arguments, spelling));
    return out;
  };
  EXPECT_EQ(spelled(2, {"System.Int32"}, EcmaSpelling::runtime), "My.Space.List`1[System.Int32]");
  EXPECT_EQ(spelled(2, {"System.Int32"}, EcmaSpelling::csharp), "My.Space.List<System.Int32>");
  EXPECT_EQ(spelled(4, {"X"}, EcmaSpelling::runtime), "My.Space.List`1+Enumerator[X]");
  EXPECT_EQ(spelled(4, {"X"}, EcmaSpelling::csharp), "My.Space.List<X>+Enumerator");
  EXPECT_EQ(spelled(4, {"X", "Y"}, EcmaSpelling::csharp), "My.Space.List<X>+Enumerator<Y>");
  EXPECT_EQ(spelled(2, {}, EcmaSpelling::csharp), "My.Space.List`1");
  EXPECT_EQ(spelled(5, {}, EcmaSpelling::runtime), "Od\\,d.A\\+B\\*\\[c\\]\\&\\\\");
  std::string out = "before";
  EXPECT_FALSE(append_type_name(out, *metadata, {}, {}, EcmaSpelling::runtime));
  const std::string long_one(kMostEcmaText, 'x');
  EXPECT_FALSE(append_type_name(out, *metadata, type_path(*metadata, {EcmaTable::type_def, 2}),
                                std::vector{long_one}, EcmaSpelling::runtime));
  EXPECT_EQ(out, "before");
}

TEST(Compressed, Numbers) {
  for (const uint32_t value : {0U, 1U, 0x7fU, 0x80U, 0x3fffU, 0x4000U, 0x1fffffffU}) {
    const std::string bytes = test::packed(value);
    ByteCursor cursor(bytes);
    EXPECT_EQ(compressed_uint(cursor), value);
    EXPECT_TRUE(cursor.ok() && cursor.at_end());
  }
  // ECMA-335, II.23.2
  for (const auto& [bytes, value] :
       {std::pair{bytes_of({0x06}), 3}, std::pair{bytes_of({0x7b}), -3},
        std::pair{bytes_of({0x80, 0x80}), 64}, std::pair{bytes_of({0x01}), -64},
        std::pair{bytes_of({0xc0, 0, 0x40, 0}), 8192}, std::pair{bytes_of({0x80, 1}), -8192},
        std::pair{bytes_of({0xdf, 0xff, 0xff, 0xfe}), 268435455},
        std::pair{bytes_of({0xc0, 0, 0, 1}), -268435456}}) {
    ByteCursor cursor(bytes);
    EXPECT_EQ(compressed_int(cursor), value);
  }
  for (const std::string& bytes : {bytes_of({0xe0, 0, 0, 0}), bytes_of({0x80}), std::string()}) {
    ByteCursor cursor(bytes);
    (void)compressed_uint(cursor);
    EXPECT_FALSE(cursor.ok());
  }
}

}  // namespace
}  // namespace jitscope
