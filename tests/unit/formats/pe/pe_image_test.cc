#include "formats/pe/pe_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "fuzz/pe_check.h"
#include "support/pe_builder.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

struct SectionHeader {
  uint32_t rva;
  uint32_t size;
  uint32_t offset;
};

void put(std::string& bytes, size_t at, uint64_t value, size_t size) {
  std::memcpy(bytes.data() + at, &value, size);
}

constexpr size_t kPe = 0x80;
constexpr size_t kOptional = kPe + 24;
constexpr size_t kOptionalSize = 240;

std::string image(const std::vector<SectionHeader>& sections) {
  std::string bytes(kOptional + kOptionalSize + 40 * sections.size(), '\0');
  std::memcpy(bytes.data(), "MZ", 2);
  put(bytes, 0x3c, kPe, 4);
  std::memcpy(bytes.data() + kPe, "PE", 2);
  put(bytes, kPe + 4, 0xfd1d, 2);
  put(bytes, kPe + 6, sections.size(), 2);
  put(bytes, kPe + 20, kOptionalSize, 2);
  put(bytes, kOptional, 0x20b, 2);
  put(bytes, kOptional + 60, 0x200, 4);
  size_t at = kOptional + kOptionalSize;
  for (const SectionHeader& section : sections) {
    put(bytes, at + 8, section.size, 4);
    put(bytes, at + 12, section.rva, 4);
    put(bytes, at + 16, section.size, 4);
    put(bytes, at + 20, section.offset, 4);
    at += 40;
  }
  return bytes;
}

Result<PeHeaders> parse(std::string_view bytes) {
  return PeHeaders::parse(std::as_bytes(std::span(bytes)));
}

// System.Text.RegularExpressions.dll of .NET Core 2.0.
TEST(PeHeaders, AddressesOfFileOffsets) {
  const auto sections = parse(
      image({{0x71800, 0x400, 0x41800}, {0x10200, 0x1c00, 0x200}, {0x21e00, 0x3fa00, 0x1e00}}));
  ASSERT_TRUE(sections);
  EXPECT_EQ(sections->rva_of(0), 0U) << "headers";
  EXPECT_EQ(sections->rva_of(0x1ff), 0x1ffU);
  EXPECT_EQ(sections->rva_of(0x200), 0x10200U);
  EXPECT_EQ(sections->rva_of(0x1dff), 0x11dffU);
  EXPECT_EQ(sections->rva_of(0x1e00), 0x21e00U);
  EXPECT_EQ(sections->rva_of(0x417ff), 0x617ffU);
  EXPECT_EQ(sections->rva_of(0x41800), 0x71800U);
  EXPECT_EQ(sections->rva_of(0x41c00), std::nullopt) << "behind the last";
}

TEST(PeHeaders, SectionsWithoutBytesInTheFile) {
  const auto sections = parse(image({{0x4000, 0, 0x200}, {0x2000, 0x1000, 0x200}}));
  ASSERT_TRUE(sections);
  EXPECT_EQ(sections->rva_of(0x200), 0x2000U);
  const auto none = parse(image({}));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->rva_of(0x200), std::nullopt);
}

TEST(PeHeaders, OtherFilesAreRefused) {
  const std::string good = image({{0x2000, 0x1000, 0x200}});
  for (size_t length = 0; length < good.size(); ++length) {
    const auto cut = parse(std::string_view(good).substr(0, length));
    ASSERT_FALSE(cut) << length;
    EXPECT_EQ(cut.error().kind, ErrorKind::damaged);
  }
  for (const auto& [at, value, size] :
       {std::tuple{size_t{0}, uint64_t{0x464c457f}, size_t{4}},  // ELF
        std::tuple{size_t{0x3c}, uint64_t{0}, size_t{4}},        // the PE header is the DOS header
        std::tuple{size_t{0x3c}, uint64_t{0xffffffff}, size_t{4}},  // or far away
        std::tuple{kPe, uint64_t{0}, size_t{4}},                    // another kind of program
        std::tuple{kPe + 6, uint64_t{0xffff}, size_t{2}},           // more sections than bytes
        std::tuple{kPe + 20, uint64_t{8}, size_t{2}}}) {            // an optional header cut short
    std::string bytes = good;
    put(bytes, at, value, size);
    EXPECT_FALSE(parse(bytes)) << at;
  }
}

TEST(PeHeaders, OverlappingSections) {
  const auto sections =
      parse(image({{0xffffffff, 0xffffffff, 0x200}, {0x1000, 0xffffffff, 0x200}}));
  ASSERT_TRUE(sections);
  EXPECT_EQ(sections->rva_of(0x200), 0x1000U) << "the later one";
  EXPECT_EQ(sections->rva_of(uint64_t{1} << 33U), std::nullopt);
}

TEST(PeImage, BytesByAddress) {
  test::PeBuilder pe;
  pe.sections = {
      {".text", 0x1000, "code", 0x2000}, {".bss", 0x3000, "", 0x1000}, {"/4", 0x4000, "long"}};
  pe.strings = std::string(".debug_info\0", 12);
  pe.symbols = std::string(36, '\0');
  const std::string bytes = pe.build();
  const auto image = PeImage::parse(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(image) << to_string(image.error());
  const auto text = [](std::span<const std::byte> part) {
    return std::string_view(reinterpret_cast<const char*>(part.data()), part.size());
  };
  EXPECT_EQ(text(image->from(0x1000)), "code");
  EXPECT_EQ(text(image->from(0x1002)), "de");
  EXPECT_EQ(text(image->bytes(0x1001, 2)), "od");
  EXPECT_TRUE(image->bytes(0x1001, 4).empty()) << "the rest is zeros that the file does not have";
  EXPECT_TRUE(image->from(0x3000).empty());
  EXPECT_TRUE(image->from(0xffffffff00ULL).empty());
  EXPECT_EQ(text(image->section_bytes(".debug_info")), "long");
  EXPECT_TRUE(image->section_bytes(".debug_line").empty());
  EXPECT_EQ(text(image->from(0)).substr(0, 2), "MZ");
  const PeHeaders& headers = image->headers();
  EXPECT_EQ(headers.size_of_image, 0x5000U);
  EXPECT_EQ(headers.machine, PeMachine::x86_64);
  EXPECT_EQ(headers.section_at(0x2fff), &headers.sections[0]);
  EXPECT_EQ(headers.section_at(0x5000), nullptr);
  EXPECT_EQ(headers.offset_of(0x1001), 0x401U);
  EXPECT_EQ(headers.offset_of(0x2000), std::nullopt);
}

TEST(PeHeaders, MachinesOfDotnetNameTheSystem) {
  test::PeBuilder pe;
  for (const auto& [value, machine, system] :
       {std::tuple{0x8664, PeMachine::x86_64, PeSystem::windows},
        std::tuple{0xfd1d, PeMachine::x86_64, PeSystem::linux},
        std::tuple{0xaa64 ^ 0x7b79, PeMachine::arm64, PeSystem::linux},
        std::tuple{0x8664 ^ 0x4644, PeMachine::x86_64, PeSystem::other},
        std::tuple{0x14c, PeMachine::x86, PeSystem::windows},
        std::tuple{0x1234, PeMachine::other, PeSystem::other}}) {
    pe.machine = static_cast<uint16_t>(value);
    const auto headers = parse(pe.build());
    ASSERT_TRUE(headers);
    EXPECT_EQ(headers->machine, machine) << value;
    EXPECT_EQ(headers->system, system) << value;
    EXPECT_TRUE(headers->wide);
  }
}

TEST(PeHeaders, Corpus) {
  EXPECT_GE(test::replay_corpus("pe", fuzz::check_pe), 12U);
}

}  // namespace
}  // namespace jitscope
