// Symbols of this program and of libc by address, what symbols without a size reach, and broken
// files.
#include "symbolize/elf_symbols.h"

#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "process/maps.h"
#include "tests/unit/symbolize/elf_builder.h"

extern "C" __attribute__((noinline)) int jitscope_test_named_function(int value) {
  asm volatile("" : "+r"(value));
  return value * 3;
}

namespace jitscope {
namespace {

using test::ElfBuilder;

// The file's virtual address of an address in this process, by the file's own segments.
std::optional<uint64_t> in_file(const ElfSymbols& symbols, uint64_t address) {
  auto maps = read_maps(::getpid());
  const Mapping* mapping = maps ? find_mapping(*maps, address) : nullptr;
  if (mapping == nullptr) return std::nullopt;
  return symbols.address_of_offset(address - mapping->start + mapping->offset);
}
std::string file_of(uint64_t address) {
  auto maps = read_maps(::getpid());
  const Mapping* mapping = maps ? find_mapping(*maps, address) : nullptr;
  return mapping == nullptr ? std::string() : mapping->path;
}

class ElfFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/jitscope-elf-XXXXXX";
    const int fd = ::mkstemp(path_.data());
    ASSERT_GE(fd, 0);
    ::close(fd);
  }
  void TearDown() override { ::unlink(path_.c_str()); }
  Result<ElfSymbols> open(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    return ElfSymbols::open(path_);
  }
  // Asks for all that can be asked; the answers of broken files do not matter, crashes do.
  static size_t ask(const Result<ElfSymbols>& symbols) {
    if (!symbols) return 0;
    size_t length = 0;
    for (const uint64_t address : {uint64_t{0}, uint64_t{0x401000}, uint64_t{0x401010},
                                   uint64_t{0x401fff}, uint64_t{1} << 63U, UINT64_MAX}) {
      length += symbols->name_at(address).size();
      (void)symbols->address_of_offset(address);
    }
    return length;
  }
  std::string path_;
};

TEST(ElfSymbolsLive, NamesThisProgram) {
  const auto start = reinterpret_cast<uint64_t>(&jitscope_test_named_function);
  EXPECT_EQ(jitscope_test_named_function(2), 6);
  auto symbols = ElfSymbols::open("/proc/self/exe");
  ASSERT_TRUE(symbols) << to_string(symbols.error());
  const auto address = in_file(*symbols, start);
  ASSERT_TRUE(address);
  EXPECT_EQ(symbols->name_at(*address), "jitscope_test_named_function");
  EXPECT_EQ(symbols->name_at(*address + 1), "jitscope_test_named_function");
  EXPECT_NE(symbols->name_at(*address - 1), "jitscope_test_named_function");
  EXPECT_EQ(symbols->name_at(0), "");
  EXPECT_EQ(symbols->name_at(UINT64_MAX), "");
  EXPECT_EQ(symbols->address_of_offset(UINT64_MAX), std::nullopt);
}

TEST(ElfSymbolsLive, NamesLibc) {
  const auto address = reinterpret_cast<uint64_t>(&::gnu_get_libc_version);
  auto symbols = ElfSymbols::open(file_of(address));
  ASSERT_TRUE(symbols) << to_string(symbols.error());
  const auto place = in_file(*symbols, address);
  ASSERT_TRUE(place);
  EXPECT_THAT(symbols->name_at(*place), testing::HasSubstr("gnu_get_libc_version"));
}

TEST_F(ElfFileTest, FunctionsFromTheirFirstToTheirLastByte) {
  ElfBuilder elf;
  elf.symbols = {{"first", 0x401000, 0x10},
                 {"second", 0x401020, 0x10},
                 {"_ZN3foo3barEi", 0x401030, 1},
                 {"data", 0x401040, 0x10, STT_OBJECT},
                 {"elsewhere", 0x401050, 0x10, STT_FUNC, SHN_UNDEF},
                 {"", 0x401060, 0x10}};
  auto symbols = open(elf.build());
  ASSERT_TRUE(symbols) << to_string(symbols.error());
  EXPECT_EQ(symbols->name_at(0x400fff), "");
  EXPECT_EQ(symbols->name_at(0x401000), "first");
  EXPECT_EQ(symbols->name_at(0x40100f), "first");
  EXPECT_EQ(symbols->name_at(0x401010), "");
  EXPECT_EQ(symbols->name_at(0x401020), "second");
  EXPECT_EQ(symbols->name_at(0x401030), "foo::bar(int)");
  EXPECT_EQ(symbols->name_at(0x401031), "");
  EXPECT_EQ(symbols->name_at(0x401040), "");
  EXPECT_EQ(symbols->name_at(0x401050), "");
  EXPECT_EQ(symbols->name_at(0x401060), "");

  EXPECT_EQ(symbols->address_of_offset(0xfff), std::nullopt);
  EXPECT_EQ(symbols->address_of_offset(0x1000), 0x401000U);
  EXPECT_EQ(symbols->address_of_offset(0x1fff), 0x401fffU);
  EXPECT_EQ(symbols->address_of_offset(0x2000), std::nullopt);
}

TEST_F(ElfFileTest, ASymbolWithoutASizeEndsAtTheNextOneAndWithItsSection) {
  ElfBuilder elf;
  elf.symbols = {{"start", 0x401000, 0}, {"sized", 0x401020, 0x10}, {"last", 0x401100, 0}};
  auto symbols = open(elf.build());
  ASSERT_TRUE(symbols);
  EXPECT_EQ(symbols->name_at(0x40101f), "start");
  EXPECT_EQ(symbols->name_at(0x401020), "sized");
  EXPECT_EQ(symbols->name_at(0x401030), "");  // behind "sized", and "start" ended there
  EXPECT_EQ(symbols->name_at(0x401fff), "last");
  EXPECT_EQ(symbols->name_at(0x402000), "");  // another section
}

TEST_F(ElfFileTest, AFunctionInsideAnotherGivesWayToIt) {
  ElfBuilder elf;
  elf.symbols = {{"outer", 0x401000, 0x100}, {"inner", 0x401040, 0x10}, {"alias", 0x401040, 0}};
  auto symbols = open(elf.build());
  ASSERT_TRUE(symbols);
  EXPECT_EQ(symbols->name_at(0x401000), "outer");
  EXPECT_THAT(symbols->name_at(0x401048), testing::AnyOf("inner", "alias"));
  EXPECT_EQ(symbols->name_at(0x401100), "alias");
}

TEST_F(ElfFileTest, DynamicSymbolsWhereThereAreNoOthers) {
  ElfBuilder elf;
  elf.symbol_section_type = SHT_DYNSYM;
  elf.symbols = {{"exported", 0x401000, 0x10}};
  auto symbols = open(elf.build());
  ASSERT_TRUE(symbols);
  EXPECT_EQ(symbols->name_at(0x401008), "exported");
}

TEST_F(ElfFileTest, EveryTruncationIsSurvived) {
  ElfBuilder elf;
  elf.symbols = {{"first", 0x401000, 0x10}, {"second", 0x401010, 0}};
  const std::string whole = elf.build();
  size_t named = 0;
  for (size_t length = 0; length <= whole.size(); ++length) {
    named += ask(open(whole.substr(0, length))) > 0 ? 1 : 0;
  }
  EXPECT_GE(named, 1U);  // the whole one, at least
}

TEST_F(ElfFileTest, RandomDamageIsSurvived) {
  ElfBuilder elf;
  elf.symbols = {{"first", 0x401000, 0x10}, {"_Z6secondv", 0x401010, 0}};
  const std::string whole = elf.build();
  std::mt19937 random(11);
  size_t opened = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (unsigned hits = 1 + random() % 4; hits-- > 0;) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    auto symbols = open(damaged);
    opened += symbols.has_value() ? 1 : 0;
    ask(symbols);
  }
  EXPECT_GT(opened, 1000U);  // the damage must get behind the first check
}

TEST_F(ElfFileTest, ForgedTablesAreSurvived) {
  const auto forged = [&](const std::function<void(ElfBuilder&)>& forge) {
    ElfBuilder elf;
    elf.symbols = {{"first", 0x401000, 0x10}, {"second", 0x401010, 0x10}};
    forge(elf);
    return ask(open(elf.build()));
  };
  EXPECT_GT(forged([](ElfBuilder&) {}), 0U);
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{7}, UINT64_MAX}) {
    forged([&](ElfBuilder& elf) { elf.entry_size = size; });
  }
  for (const uint32_t link : {0U, 1U, 2U, 5U, 0xffffU, 0xffffffffU}) {
    forged([&](ElfBuilder& elf) { elf.link = link; });
  }
  for (const uint64_t size : {uint64_t{1}, uint64_t{25}, uint64_t{1} << 40U, UINT64_MAX}) {
    forged([&](ElfBuilder& elf) { elf.symbols_size = size; });
    forged([&](ElfBuilder& elf) { elf.names_size = size; });
  }
  EXPECT_GT(forged([](ElfBuilder& elf) { elf.close_names = false; }), 0U);
  forged([](ElfBuilder& elf) { elf.text_offset = UINT64_MAX - 8; });
  forged([](ElfBuilder& elf) { elf.text_size = UINT64_MAX; });
  forged([](ElfBuilder& elf) {
    elf.symbols = {{"wraps", UINT64_MAX - 4, 0x100}, {"huge", 0, UINT64_MAX}};
  });
}

TEST_F(ElfFileTest, ManySymbolsThatShareOneLongNameTakeNoMoreThanTheFile) {
  ElfBuilder elf;
  const std::string name(4U << 20U, 'n');
  elf.symbols = {{name, 0x401000, 1}};
  for (uint64_t i = 1; i < 4096; ++i) elf.symbols.push_back({"", 0x401000 + i, 1});
  std::string bytes = elf.build();
  // All of them point to the one name: 16 GB when each had its own copy.
  for (size_t i = 2; i <= elf.symbols.size(); ++i) {
    const uint32_t offset = 1;
    std::memcpy(bytes.data() + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + i * sizeof(Elf64_Sym),
                &offset, sizeof(offset));
  }
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  auto symbols = open(bytes);
  ASSERT_TRUE(symbols);
  EXPECT_THAT(symbols->name_at(0x401000 + 4000), testing::StartsWith("nnnn"));
  EXPECT_LE(symbols->name_at(0x401000 + 4000).size(), 64U << 10U);
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 512 * 1024) << "KiB";
}

TEST_F(ElfFileTest, WhatIsNoElfFileIsAnError) {
  EXPECT_FALSE(open(""));
  EXPECT_FALSE(open("MZ and more"));
  EXPECT_FALSE(open("!<arch>\n"));
  EXPECT_FALSE(ElfSymbols::open("/dev/null"));
  EXPECT_FALSE(ElfSymbols::open("/tmp"));
  const auto missing = ElfSymbols::open(path_ + "-missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  const std::string fifo = path_ + "-fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(ElfSymbols::open(fifo));  // and does not wait
  ::unlink(fifo.c_str());
}

TEST(Demangle, ReadableOrAsItIs) {
  EXPECT_EQ(demangle("_ZN8jitscope8demangleEv"), "jitscope::demangle()");
  EXPECT_EQ(demangle("main"), "main");
  EXPECT_EQ(demangle("_Z"), "_Z");
  EXPECT_EQ(demangle("_ZN"), "_ZN");
  EXPECT_EQ(demangle("i"), "i");  // a mangled type, but no symbol
  EXPECT_EQ(demangle(""), "");
}

TEST(Demangle, ANameThatWouldDoubleAndDoubleStaysAsItIs) {
  // Each parameter is a pair of the one before.
  const auto doubled = [](size_t times) {
    std::string name = "_Z1fSt4pairIiiE";
    for (size_t i = 0; i < times; ++i) {
      const std::string before(1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
      name += "S_IS" + before + "_S" + before + "_E";
    }
    return name;
  };
  EXPECT_THAT(demangle(doubled(1)), testing::StartsWith("f(std::pair<int, int>, "));
  EXPECT_GT(demangle(doubled(5)).size(), 1000U);
  EXPECT_EQ(demangle(doubled(34)), doubled(34));  // about a terabyte
}

}  // namespace
}  // namespace jitscope
