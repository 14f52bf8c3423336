#include "symbolize/pe/pe_debug.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "support/pe_builder.h"
#include "symbolize/elf_file.h"

namespace jitscope {
namespace {

std::vector<std::byte> debug_of(const test::PeBuilder& pe) {
  const std::string bytes = pe.build();
  const auto image = PeImage::parse(std::as_bytes(std::span(bytes)));
  EXPECT_TRUE(image);
  return image ? debug_elf(*image) : std::vector<std::byte>();
}

test::PeBuilder with_debug() {
  test::PeBuilder pe;
  pe.sections = {{".text", 0x1000, "code"}, {"/4", 0x2000, "info"}, {"/16", 0x3000, "line"}};
  pe.strings = std::string(".debug_info\0.debug_line\0", 24);
  return pe;
}

TEST(PeDebug, SectionsOfDebugInformationAreAnElfFiles) {
  const auto elf = ElfFile::from_memory(debug_of(with_debug()), "a.exe");
  ASSERT_TRUE(elf) << to_string(elf.error());
  EXPECT_NE((*elf)->filled_section(".debug_info"), nullptr);
  EXPECT_NE((*elf)->filled_section(".debug_line"), nullptr);
  EXPECT_EQ((*elf)->filled_section(".text"), nullptr);
}

TEST(PeDebug, NoneWithoutUnits) {
  test::PeBuilder pe = with_debug();
  pe.sections.erase(pe.sections.begin() + 1);
  EXPECT_TRUE(debug_of(pe).empty());
  EXPECT_TRUE(debug_of(test::PeBuilder()).empty());
}

// The same bytes many times are no reason for memory.
TEST(PeDebug, SectionsThatShareTheirBytesAreRefused) {
  test::PeBuilder pe = with_debug();
  pe.sections = {};
  for (uint32_t i = 0; i < 60; ++i) {
    pe.sections.push_back({"/4", 0x1000 + i * 0x10000, std::string(0x8000, 'x'), 0, 0x1000});
  }
  EXPECT_TRUE(debug_of(pe).empty());
}

}  // namespace
}  // namespace jitscope
