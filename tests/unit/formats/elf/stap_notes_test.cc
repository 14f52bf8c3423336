#include "formats/elf/stap_notes.h"

#include <gtest/gtest.h>

#include <string>

namespace jitscope {
namespace {

void number(std::string& out, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
}

std::string note(const std::string& owner, uint32_t type, const std::string& texts) {
  std::string body;
  number(body, 0x1234, 8);
  number(body, 0x5678, 8);
  number(body, 0, 8);
  body += texts;
  std::string out;
  number(out, owner.size() + 1, 4);
  number(out, body.size(), 4);
  number(out, type, 4);
  out += owner;
  out += '\0';
  while (out.size() % 4 != 0) out += '\0';
  out += body;
  while (out.size() % 4 != 0) out += '\0';
  return out;
}

std::vector<StapNote> parse(const std::string& section) {
  return parse_stap_notes(std::as_bytes(std::span(section.data(), section.size())));
}

const std::string kTexts{"hotspot\0compiled__method__load\0-8@%rax 4@%edx\0", 47};

TEST(StapNotes, ReadsProviderNameAndArguments) {
  const auto notes = parse(note("stapsdt", 3, kTexts) + note("stapsdt", 3, kTexts));
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[1].pc, 0x1234U);
  EXPECT_EQ(notes[1].base, 0x5678U);
  EXPECT_EQ(notes[1].semaphore, 0U);
  EXPECT_EQ(notes[1].provider, "hotspot");
  EXPECT_EQ(notes[1].name, "compiled__method__load");
  EXPECT_EQ(notes[1].arguments, "-8@%rax 4@%edx");
}

TEST(StapNotes, SkipsOtherOwnersAndTypes) {
  const auto notes =
      parse(note("GNU", 3, kTexts) + note("stapsdt", 4, kTexts) + note("stapsdt", 3, kTexts));
  EXPECT_EQ(notes.size(), 1U);
}

TEST(StapNotes, SkipsANoteWithoutItsTexts) {
  const auto notes = parse(note("stapsdt", 3, "hotspot") + note("stapsdt", 3, kTexts));
  EXPECT_EQ(notes.size(), 1U);
}

TEST(StapNotes, EveryTruncationEnds) {
  const std::string whole = note("stapsdt", 3, kTexts) + note("stapsdt", 3, kTexts);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_LE(parse(whole.substr(0, length)).size(), 2U);
  }
}

TEST(StapNotes, HugeSizesAreRefused) {
  std::string section = note("stapsdt", 3, kTexts);
  section.replace(4, 4, "\xff\xff\xff\xff");
  EXPECT_TRUE(parse(section).empty());
  section.replace(0, 4, "\xff\xff\xff\xff");
  EXPECT_TRUE(parse(section).empty());
}

}  // namespace
}  // namespace jitscope
