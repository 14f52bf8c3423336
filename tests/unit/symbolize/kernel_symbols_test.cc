// Kernel symbols from text and of this machine.
#include "symbolize/kernel_symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace jitscope {
namespace {

using Symbols = Result<std::unique_ptr<KernelSymbols>>;

constexpr const char* text =
    "0000000000000000 A __per_cpu_start\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000100 t local_function\n"
    "ffffffff81000180 r a_constant\n"
    "ffffffff81000200 W weak_function\n"
    "ffffffff81000200 T strong_function\n"
    "ffffffff81000300 t $x\n"
    "ffffffff81000310 T last_function\n"
    "ffffffff82000000 D some_data\n"
    "ffffffffc0001000 t ext4_find\t[ext4]\n"
    "ffffffffc0001080 t ext4_last\t[ext4]\n"
    "ffffffffc0101010 t xfs_only\t[xfs]\n"
    "ffffffffc0200000 t bpf_prog_6deef7357e7b4530_test\t[bpf]\n";

std::string name_at(const Symbols& symbols, uint64_t address) {
  const auto hit = (*symbols)->at(address);
  return hit ? std::string(hit->name) : std::string();
}

TEST(KernelSymbols, EachEndsAtTheNext) {
  const Symbols symbols = KernelSymbols::parse(text);
  ASSERT_TRUE(symbols) << to_string(symbols.error());
  EXPECT_EQ(name_at(symbols, 0xffffffff80ffffff), "");
  EXPECT_EQ(name_at(symbols, 0xffffffff810000ff), "_stext");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000100), "local_function");
  EXPECT_EQ(name_at(symbols, 0xffffffff810001ff), "local_function");  // constants end nothing
  EXPECT_EQ(name_at(symbols, 0xffffffff81000308), "strong_function");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000310), "last_function");
  const auto hit = (*symbols)->at(0xffffffff81000104);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->start, 0xffffffff81000100U);
  EXPECT_EQ(hit->size, 0x100U);
  EXPECT_EQ(hit->module, "");
}

// perf gives a size only to the last of those at one address, and prefers the one with a size.
TEST(KernelSymbols, OfSeveralAtOneAddressTheLast) {
  const Symbols symbols = KernelSymbols::parse(text);
  ASSERT_TRUE(symbols);
  EXPECT_EQ(name_at(symbols, 0xffffffff81000000), "_stext");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000200), "strong_function");
}

TEST(KernelSymbols, ModulesEndAtAPage) {
  const Symbols symbols = KernelSymbols::parse(text);
  ASSERT_TRUE(symbols);
  const auto hit = (*symbols)->at(0xffffffffc0001004);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->name, "ext4_find");
  EXPECT_EQ(hit->module, "ext4");
  EXPECT_EQ(name_at(symbols, 0xffffffffc0002fff), "ext4_last");
  EXPECT_EQ(name_at(symbols, 0xffffffffc0003000), "");
  EXPECT_EQ((*symbols)->at(0xffffffffc0101010)->module, "xfs");
  const auto program = (*symbols)->at(0xffffffffc0200800);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->name, "bpf_prog_6deef7357e7b4530_test");
  EXPECT_EQ(program->module, "bpf");
  EXPECT_EQ(name_at(symbols, 0xffffffffc0201000), "");
}

TEST(KernelSymbols, AddressesByName) {
  const Symbols symbols = KernelSymbols::parse(text);
  ASSERT_TRUE(symbols);
  EXPECT_EQ((*symbols)->address_of("_text"), 0xffffffff81000000U);
  EXPECT_EQ((*symbols)->address_of("a_constant"), 0xffffffff81000180U);
  EXPECT_EQ((*symbols)->address_of("no such"), std::nullopt);
}

TEST(KernelSymbols, HiddenAddressesAreSaidToBe) {
  const Symbols symbols = KernelSymbols::parse("0000000000000000 T _text\n0000000000000000 t f\n");
  ASSERT_FALSE(symbols);
  EXPECT_EQ(symbols.error().kind, ErrorKind::not_permitted);
  EXPECT_THAT(symbols.error().hint, testing::HasSubstr("kptr_restrict"));
}

TEST(KernelSymbols, LinesThatMakeNoSenseAreSkipped) {
  const Symbols symbols = KernelSymbols::parse(
      "\n\n \nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \nnonsense T f\n"
      "ffffffff81000000T f\nffffffff81000000 TT f\n12345678123456789 T too_long\n"
      "ffffffff81000010 T good\nffffffff81000020 t in\t[\nffffffff81000030 t out\t\n"
      "ffffffffffffffff T top");
  ASSERT_TRUE(symbols) << to_string(symbols.error());
  EXPECT_EQ(name_at(symbols, 0xffffffff81000000), "");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000010), "good");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000020), "in");
  (void)name_at(symbols, 0xffffffffffffffff);
  for (const char* const nothing : {"", "\n", "hello", "ffffffff81000000 T "}) {
    const Symbols none = KernelSymbols::parse(nothing);
    ASSERT_FALSE(none) << nothing;
    EXPECT_EQ(none.error().kind, ErrorKind::damaged);
  }
}

TEST(KernelSymbols, OrderOfTheTextDoesNotMatter) {
  const Symbols symbols = KernelSymbols::parse(
      "ffffffffc0001000 t m\t[mod]\nffffffff81000100 t b\nffffffff81000000 T a\n");
  ASSERT_TRUE(symbols);
  EXPECT_EQ(name_at(symbols, 0xffffffff81000050), "a");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000150), "b");
  EXPECT_EQ(name_at(symbols, 0xffffffffc0001010), "m");
}

TEST(KernelSymbolsLive, TheRunningKernel) {
  const Symbols symbols = KernelSymbols::running();
  if (!symbols) GTEST_SKIP() << to_string(symbols.error());
  const auto start = (*symbols)->address_of("_stext");
  ASSERT_TRUE(start);
  EXPECT_NE(*start, 0U);
  size_t checked = 0;
  std::ifstream stream("/proc/kallsyms");
  for (std::string line; std::getline(stream, line) && checked < 1000;) {
    std::istringstream fields(line);
    uint64_t address = 0;
    char type = 0;
    std::string name;
    if (!(fields >> std::hex >> address >> type >> name) || (type != 't' && type != 'T')) continue;
    const auto hit = (*symbols)->at(address);
    ASSERT_TRUE(hit) << line;
    EXPECT_EQ(hit->start, address) << line;
    ++checked;
  }
  EXPECT_GT(checked, 100U);
}

TEST(KernelSymbolsLive, BuildIdOfTheRunningKernel) {
  const auto id = running_kernel_build_id();
  if (!id) GTEST_SKIP() << to_string(id.error());
  EXPECT_GE(id->size(), 8U);
  EXPECT_LE(id->size(), 64U);
  EXPECT_EQ(build_id_text(*id).size(), 2 * id->size());
}

}  // namespace
}  // namespace jitscope
