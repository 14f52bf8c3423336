#include "formats/pe/coff_symbols.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/pe_builder.h"
#include "unit/formats/pe/pe_test_image.h"

namespace jitscope {
namespace {

test::PeBuilder two_sections() {
  test::PeBuilder pe;
  pe.sections = {{".text", 0x1000, std::string(0x100, '\xcc')},
                 {".data", 0x2000, std::string(0x100, 'd'), 0, 0, 0xc0000040}};
  return pe;
}

std::vector<std::string> all(const test::PeBuilder& pe) {
  const test::PeFile file(pe);
  const auto symbols = CoffSymbols::parse(*file);
  if (!symbols) return {to_string(symbols.error())};
  std::vector<std::string> out;
  for (size_t i = 0; i < symbols->size(); ++i) {
    const CoffSymbol symbol = (*symbols)[i];
    out.push_back(std::to_string(symbol.rva - 0x1000) + " " + std::string(symbol.name) +
                  (symbol.function ? " function" : "") + (symbol.global ? " global" : ""));
  }
  return out;
}
using Texts = std::vector<std::string>;

TEST(CoffSymbols, OfCodeByAddress) {
  test::PeBuilder pe = two_sections();
  pe.add_symbol({"late", 0x80});
  pe.add_symbol({"a_name_of_more_than_eight_characters", 0x10});
  pe.add_symbol({"eight_ch", 0x20, 1, 0x20, 3, 2});
  pe.add_symbol({"asm_label", 0x30, 1, 0, 6});
  pe.add_symbol({"asm_entry", 0x40, 1, 0, 2});
  EXPECT_EQ(all(pe), (Texts{"16 a_name_of_more_than_eight_characters function global",
                            "32 eight_ch function", "48 asm_label global", "64 asm_entry global",
                            "128 late function global"}));
}

TEST(CoffSymbols, WhatNamesNoCode) {
  test::PeBuilder pe = two_sections();
  pe.add_symbol({".file", 0, -2, 0, 103, 1});
  pe.add_symbol({".text", 0, 1, 0, 3, 1});
  pe.add_symbol({"my_sect", 0, 1, 0, 3, 1});
  pe.add_symbol({".text$_ZN3fooEv", 8, 1, 0, 3});
  pe.add_symbol({".l_start", 8, 1, 0, 6});
  pe.add_symbol({"imported", 0, 0});
  pe.add_symbol({"absolute", 8, -1});
  pe.add_symbol({"variable", 8, 2, 0});
  pe.add_symbol({"of_no_section", 8, 3});
  pe.add_symbol({"at_the_end", 0x100});
  pe.add_symbol({".bf", 8, 1, 0, 101});
  pe.add_symbol({"", 8});
  EXPECT_EQ(all(pe), Texts{});
  EXPECT_EQ(all(two_sections()), Texts{}) << "no table at all";
}

TEST(CoffSymbols, WeakFunctionsHaveTheirOwnName) {
  test::PeBuilder pe = two_sections();
  pe.add_symbol({".weak.weak_one.main", 8, 1, 0, 2});
  pe.add_symbol({".weak.main", 16, 1, 0, 2});
  EXPECT_EQ(all(pe), Texts{"8 weak_one function global"});
}

TEST(CoffSymbols, OfOneAddressTheBestNameFirst) {
  test::PeBuilder pe = two_sections();
  for (const char* name : {"shorter", "a_longer", "b_longer"}) {
    pe.add_symbol({name, 8, 1, 0, 6});
    const std::string local = std::string("s_") + name;
    pe.add_symbol({local, 8, 1, 0x20, 3});
    const std::string global = std::string("g_") + name;
    pe.add_symbol({global, 8});
  }
  EXPECT_EQ(all(pe), (Texts{"8 g_shorter function global", "8 g_a_longer function global",
                            "8 g_b_longer function global", "8 s_shorter function",
                            "8 s_a_longer function", "8 s_b_longer function", "8 shorter global",
                            "8 a_longer global", "8 b_longer global"}));
}

TEST(CoffSymbols, NamesThatShareBytes) {
  test::PeBuilder pe = two_sections();
  pe.add_symbol({"one_long_name", 8});
  const auto at = [&](uint32_t value, uint32_t offset) {
    test::LittleBytes record;
    record.u32(0).u32(offset).u32(value).u16(1).u16(0x20).u8(2).u8(0);
    pe.symbols += record.bytes();
  };
  at(16, 4);
  at(24, 8);   // its tail
  at(32, 17);  // its NUL
  at(40, 18);  // the end of the table
  at(48, 2);   // in the table's size
  at(56, 0xffffffff);
  EXPECT_EQ(all(pe), (Texts{"8 one_long_name function global", "16 one_long_name function global",
                            "24 long_name function global"}));
}

TEST(CoffSymbols, DamagedTables) {
  test::PeBuilder pe = two_sections();
  pe.add_symbol({"unended_name", 8});
  pe.add_symbol({"short", 16});
  pe.strings.pop_back();
  EXPECT_EQ(all(pe), Texts{"16 short function global"});

  std::string bytes = pe.build();
  test::overwrite(bytes, test::PeBuilder::kPe + 16, 0xffffffff, 4);
  const test::PeFile many(bytes);
  EXPECT_FALSE(CoffSymbols::parse(*many)) << "more records than the file has";
  test::overwrite(bytes, test::PeBuilder::kPe + 16, 2, 4);
  test::overwrite(bytes, test::PeBuilder::kPe + 12, 0xfffffff0, 4);
  const test::PeFile far(bytes);
  EXPECT_FALSE(CoffSymbols::parse(*far)) << "beyond the file";

  test::PeBuilder last = two_sections();
  last.add_symbol({"short", 16});
  last.symbols[17] = '\xff';  // records behind it that are not there
  EXPECT_EQ(all(last), Texts{"16 short function global"});
}

// A million names in one string of a megabyte take no million megabytes.
TEST(CoffSymbols, ManyNamesInOneLongString) {
  test::PeBuilder pe = two_sections();
  pe.strings = std::string(100'000, 'x') + '\0';
  for (uint32_t i = 0; i < 100'000; ++i) {
    test::LittleBytes record;
    record.u32(0).u32(4 + i).u32(i % 0x100).u16(1).u16(0x20).u8(2).u8(0);
    pe.symbols += record.bytes();
  }
  const test::PeFile file(pe);
  const auto symbols = CoffSymbols::parse(*file);
  ASSERT_TRUE(symbols);
  EXPECT_EQ(symbols->size(), 100'000U);
  EXPECT_EQ((*symbols)[0].name, std::string(((100'000 - 1) % 0x100) + 1, 'x')) << "the shortest";
}

}  // namespace
}  // namespace jitscope
