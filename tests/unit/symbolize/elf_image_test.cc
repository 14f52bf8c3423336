// Symbols by address: of this program and of libc, and chosen among several.
#include "symbolize/elf_image.h"

#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "process/maps.h"
#include "symbolize/kernel_symbols.h"
#include "tests/unit/symbolize/elf_builder.h"

extern "C" __attribute__((noinline)) int jitscope_test_named_function(int value) {
  asm volatile("" : "+r"(value));
  return value * 3;
}

namespace jitscope {
namespace {

using Image = Result<std::unique_ptr<ElfImage>>;
using Symbol = test::ElfBuilder::Symbol;
using test::ElfBuilder;

Image image_of(const std::string& bytes, const ElfImageOptions& options = {}) {
  const auto span = std::as_bytes(std::span(bytes));
  return ElfImage::from_memory({span.begin(), span.end()}, "test", options);
}
Image image_of(const std::vector<Symbol>& symbols) {
  ElfBuilder elf;
  elf.symbols = symbols;
  return image_of(elf.build());
}

std::string name_at(const Image& image, uint64_t address) {
  if (!image) return "no image: " + to_string(image.error());
  const auto hit = (*image)->symbol_at(address);
  return hit ? std::string(hit->name) : std::string();
}

// The file's virtual address of an address in this process.
std::optional<uint64_t> in_file(const ElfImage& image, uint64_t address) {
  auto maps = read_maps(::getpid());
  const Mapping* mapping = maps ? find_mapping(*maps, address) : nullptr;
  if (mapping == nullptr) return std::nullopt;
  return image.address_of_offset(address - mapping->start + mapping->offset);
}
std::string file_of(uint64_t address) {
  auto maps = read_maps(::getpid());
  const Mapping* mapping = maps ? find_mapping(*maps, address) : nullptr;
  return mapping == nullptr ? std::string() : mapping->path;
}

TEST(ElfImageLive, NamesThisProgram) {
  const auto start = reinterpret_cast<uint64_t>(&jitscope_test_named_function);
  EXPECT_EQ(jitscope_test_named_function(2), 6);
  const auto image = ElfImage::open("/proc/self/exe", {});
  ASSERT_TRUE(image) << to_string(image.error());
  const auto address = in_file(**image, start);
  ASSERT_TRUE(address);
  const auto hit = (*image)->symbol_at(*address + 1);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->name, "jitscope_test_named_function");
  EXPECT_EQ(hit->start, *address);
  EXPECT_GT(hit->size, 1U);
  EXPECT_TRUE(hit->code);
  EXPECT_NE(name_at(image, *address - 1), "jitscope_test_named_function");
  EXPECT_EQ(name_at(image, 0), "");
  EXPECT_EQ(name_at(image, UINT64_MAX), "");
  EXPECT_EQ((*image)->address_of_offset(UINT64_MAX), std::nullopt);
  EXPECT_TRUE((*image)->has_symbols());
}

TEST(ElfImageLive, NamesLibc) {
  const auto address = reinterpret_cast<uint64_t>(&::gnu_get_libc_version);
  const auto image = ElfImage::open(file_of(address), {});
  ASSERT_TRUE(image) << to_string(image.error());
  const auto place = in_file(**image, address);
  ASSERT_TRUE(place);
  EXPECT_THAT(name_at(image, *place), testing::HasSubstr("gnu_get_libc_version"));
}

TEST(ElfImageLive, NamesTheVdso) {
  auto bytes = vdso_image();
  if (bytes.empty()) GTEST_SKIP() << "this kernel gives processes no vdso";
  const auto image = ElfImage::from_memory(std::move(bytes), "[vdso]");
  ASSERT_TRUE(image) << to_string(image.error());
  EXPECT_TRUE((*image)->has_symbols());
  bool found = false;
  for (uint64_t offset = 0; offset < 0x4000 && !found; ++offset) {
    const auto address = (*image)->address_of_offset(offset);
    found = address && name_at(image, *address).ends_with("clock_gettime");
  }
  EXPECT_TRUE(found);
}

TEST(ElfImage, FunctionsFromTheirFirstToTheirLastByte) {
  const auto image =
      image_of(std::vector<Symbol>{{"first", 0x401000, 0x10},
                                   {"second", 0x401020, 0x10},
                                   {"_ZN3foo3barEi", 0x401030, 1},
                                   {"elsewhere", 0x401050, 0x10, STT_FUNC, SHN_UNDEF},
                                   {"file", 0x401058, 1, STT_FILE},
                                   {"", 0x401060, 0x10},
                                   {"indirect", 0x401070, 1, STT_GNU_IFUNC},
                                   {"absolute", 0x401080, 1, STT_FUNC, SHN_ABS}});
  EXPECT_EQ(name_at(image, 0x400fff), "");
  EXPECT_EQ(name_at(image, 0x401000), "first");
  EXPECT_EQ(name_at(image, 0x40100f), "first");
  EXPECT_EQ(name_at(image, 0x401010), "");
  EXPECT_EQ(name_at(image, 0x401020), "second");
  EXPECT_EQ(name_at(image, 0x401030), "foo::bar");
  EXPECT_EQ((*image)->symbol_at(0x401030)->raw, "_ZN3foo3barEi");
  EXPECT_EQ(name_at(image, 0x401031), "");
  EXPECT_EQ(name_at(image, 0x401050), "");
  EXPECT_EQ(name_at(image, 0x401058), "");
  EXPECT_EQ(name_at(image, 0x401060), "");
  EXPECT_EQ(name_at(image, 0x401070), "indirect");
  EXPECT_EQ(name_at(image, 0x401080), "");

  EXPECT_EQ((*image)->address_of_offset(0xfff), std::nullopt);
  EXPECT_EQ((*image)->address_of_offset(0x1000), 0x401000U);
  EXPECT_EQ((*image)->address_of_offset(0x1fff), 0x401fffU);
  EXPECT_EQ((*image)->address_of_offset(0x2000), std::nullopt);
  EXPECT_EQ((*image)->symbol_file(), "test");
  EXPECT_FALSE((*image)->only_dynamic());
  EXPECT_TRUE((*image)->source_frames(0x401000).empty());
}

TEST(ElfImage, NamesAsTheyAreWhenNotToBeDemangled) {
  ElfBuilder elf;
  elf.symbols = {{"_ZN3foo3barEi", 0x401030, 1}};
  ElfImageOptions options;
  options.demangle = false;
  EXPECT_EQ(name_at(image_of(elf.build(), options), 0x401030), "_ZN3foo3barEi");
}

TEST(ElfImage, ASymbolWithoutASizeEndsAtTheNextOneAndWithItsSection) {
  const auto image = image_of(std::vector<Symbol>{
      {"start", 0x401000, 0}, {"sized", 0x401020, 0x10}, {"last", 0x401100, 0}});
  EXPECT_EQ(name_at(image, 0x40101f), "start");
  EXPECT_EQ((*image)->symbol_at(0x401000)->size, 0x20U);
  EXPECT_EQ(name_at(image, 0x401020), "sized");
  EXPECT_EQ(name_at(image, 0x401030), "");  // behind "sized", and "start" ended there
  EXPECT_EQ(name_at(image, 0x401fff), "last");
  EXPECT_EQ(name_at(image, 0x402000), "");  // another section
}

TEST(ElfImage, AFunctionInsideAnotherGivesWayToItAndALabelDoesNot) {
  const auto image = image_of(std::vector<Symbol>{{"outer", 0x401000, 0x100},
                                                  {"inner", 0x401040, 0x10},
                                                  {"deopt_label", 0x401080, 0, STT_NOTYPE},
                                                  {"tail", 0x4010f0, 0x20}});
  EXPECT_EQ(name_at(image, 0x401000), "outer");
  EXPECT_EQ(name_at(image, 0x401048), "inner");
  EXPECT_EQ(name_at(image, 0x401050), "outer");
  EXPECT_EQ(name_at(image, 0x401088), "outer");
  EXPECT_EQ(name_at(image, 0x4010f0), "tail");
  EXPECT_EQ(name_at(image, 0x40110f), "tail");
  EXPECT_EQ(name_at(image, 0x401110), "");
}

// The rules of perf's choose_best_symbol, one after the other.
TEST(ElfImage, OfSeveralNamesTheBest) {
  const auto best = [](const std::vector<Symbol>& symbols) {
    return name_at(image_of(symbols), 0x401000);
  };
  const auto symbol = [](const char* name, uint64_t size, unsigned char binding,
                         unsigned char type = STT_FUNC) {
    return Symbol{name, 0x401000, size, type, 1, binding};
  };
  EXPECT_EQ(best({symbol("longer_name", 0, STB_GLOBAL), symbol("sized", 8, STB_WEAK)}), "sized");
  EXPECT_EQ(best({symbol("longer_weak", 8, STB_WEAK), symbol("strong", 8, STB_LOCAL)}), "strong");
  EXPECT_EQ(best({symbol("longer_local", 8, STB_LOCAL), symbol("global", 8, STB_GLOBAL)}),
            "global");
  EXPECT_EQ(best({symbol("__longer_name", 8, STB_GLOBAL), symbol("plain", 8, STB_GLOBAL)}),
            "plain");
  EXPECT_EQ(best({symbol("short", 8, STB_GLOBAL), symbol("longer", 8, STB_GLOBAL)}), "longer");
  EXPECT_EQ(best({symbol("first", 8, STB_GLOBAL), symbol("after", 8, STB_GLOBAL)}), "first");
  EXPECT_EQ(best({symbol("SyS_a", 8, STB_GLOBAL), symbol("sys_a", 8, STB_GLOBAL)}), "sys_a");
  // The readable names count: "ns::f" against "much_longer".
  EXPECT_EQ(
      best({symbol("_ZN2ns1fEiiiiiiiii", 8, STB_GLOBAL), symbol("much_longer", 8, STB_GLOBAL)}),
      "much_longer");
  // The last of those without a size gets one.
  EXPECT_EQ(best({symbol("longer_name", 0, STB_GLOBAL), symbol("last", 0, STB_WEAK)}), "last");
  EXPECT_EQ(best({symbol("label", 8, STB_LOCAL, STT_NOTYPE), symbol("f", 8, STB_GLOBAL)}), "f");
}

TEST(ElfImage, DynamicSymbolsWhereThereAreNoOthers) {
  ElfBuilder elf;
  elf.symbol_section_type = SHT_DYNSYM;
  elf.symbols = {{"exported", 0x401000, 0x10}};
  // The builder names the section .symtab.
  std::string bytes = elf.build();
  const size_t name = bytes.find(".symtab");
  ASSERT_NE(name, bytes.npos);
  bytes.replace(name, 7, ".dynsym");
  const auto image = image_of(bytes);
  EXPECT_EQ(name_at(image, 0x401008), "exported");
  EXPECT_TRUE((*image)->only_dynamic());
  EXPECT_TRUE((*image)->has_symbols());
}

TEST(ElfImage, AFileWithoutSymbols) {
  const auto image = image_of(std::vector<Symbol>{});
  ASSERT_TRUE(image);
  EXPECT_FALSE((*image)->has_symbols());
  EXPECT_FALSE((*image)->only_dynamic());
  EXPECT_EQ(name_at(image, 0x401000), "");
}

class ElfImageFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/jitscope-elf-XXXXXX";
    const int fd = ::mkstemp(path_.data());
    ASSERT_GE(fd, 0);
    ::close(fd);
  }
  void TearDown() override { ::unlink(path_.c_str()); }
  Image open(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    return ElfImage::open(path_, {});
  }
  std::string path_;
};

TEST_F(ElfImageFileTest, AFileGivesWhatItsBytesGive) {
  ElfBuilder elf;
  elf.symbols = {{"first", 0x401000, 0x10}};
  const auto image = open(elf.build());
  EXPECT_EQ(name_at(image, 0x401008), "first");
  EXPECT_EQ((*image)->symbol_file(), path_);
  EXPECT_TRUE((*image)->build_id().empty());
}

TEST_F(ElfImageFileTest, WhatIsNoElfFileIsAnError) {
  EXPECT_FALSE(open(""));
  EXPECT_FALSE(open("\177ELF"));
  const auto other = open("MZ and more");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::damaged);
  EXPECT_FALSE(ElfImage::open("/tmp", {}));
  EXPECT_FALSE(ElfImage::open("/dev/zero", {}));
  const auto missing = ElfImage::open(path_ + "-missing", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  const auto below = ElfImage::open(path_ + "/below", {});
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().kind, ErrorKind::not_found);
  const std::string fifo = path_ + "-fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(ElfImage::open(fifo, {}));  // and does not wait
  EXPECT_EQ(probe_file(fifo).format, FileFormat::unreadable);
  ::unlink(fifo.c_str());
}

TEST_F(ElfImageFileTest, FormatsByTheirFirstBytes) {
  const auto probe = [&](const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    return probe_file(path_).format;
  };
  EXPECT_EQ(probe("\177ELF and more"), FileFormat::elf);
  EXPECT_EQ(probe("MZ"), FileFormat::pe);
  EXPECT_EQ(probe("MZ\x90"), FileFormat::pe);
  EXPECT_EQ(probe("DTiJ...."), FileFormat::jitdump);
  EXPECT_EQ(probe("JiTD...."), FileFormat::jitdump);
  EXPECT_EQ(probe("\177EL"), FileFormat::other);
  EXPECT_EQ(probe(""), FileFormat::other);
  const FileProbe missing = probe_file(path_ + "-missing");
  EXPECT_EQ(missing.format, FileFormat::unreadable);
  EXPECT_EQ(missing.why, "No such file or directory");
  EXPECT_EQ(probe_file("/tmp").why, "is no regular file");
  const std::string link = path_ + "-link";
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  probe("MZ");
  EXPECT_EQ(probe_file(link).format, FileFormat::pe);
  ::unlink(link.c_str());
}

}  // namespace
}  // namespace jitscope
