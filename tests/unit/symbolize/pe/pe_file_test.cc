#include "symbolize/pe/pe_file.h"

#include <gtest/gtest.h>

#include <string>

#include "support/pe_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

class PeFileTest : public test::ScratchFolderTest {
 protected:
  std::unique_ptr<PeFile> open(const std::string& bytes, FilePart part) {
    auto file = open_regular_file(write("file", bytes));
    EXPECT_TRUE(file);
    auto opened = PeFile::open(std::make_shared<const OpenedFile>(std::move(*file)), part, "a.dll");
    return opened ? std::move(*opened) : nullptr;
  }
};

test::PeBuilder image() {
  test::PeBuilder pe;
  pe.sections = {{".text", 0x1000, std::string(0x200, '\x90')}};
  pe.add_symbol({"first", 0x10});
  pe.add_symbol({"second", 0x40});
  return pe;
}

TEST_F(PeFileTest, APartOfAFileIsReadLikeAWholeOne) {
  const std::string bytes = image().build();
  const auto file = open(std::string(0x40, 'x') + bytes + "behind", {0x40, bytes.size()});
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(file->asked());
  const auto name = file->at(0x1044);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->raw, "second");
  EXPECT_EQ(name->start, 0x1040U);
  EXPECT_EQ(name->source, PeNameSource::symbol);
  EXPECT_EQ(file->describe(), "COFF symbols");
  EXPECT_EQ(file->advice(), "");
  EXPECT_EQ(file->code(0x1010, 0x30).size(), 0x30U);
  EXPECT_TRUE(file->code(0x11f0, 0x20).empty());
  std::vector<std::string> all;
  ASSERT_TRUE(file->for_each_function([&](PeName each) {
    all.push_back(each.raw);
    return Status();
  }));
  EXPECT_EQ(all, (std::vector<std::string>{"first", "second"}));
}

TEST_F(PeFileTest, WhatIsNotReadSaysWhy) {
  test::PeBuilder narrow = image();
  narrow.machine = 0x14c;
  std::string bytes = narrow.build();
  auto file = open(bytes, {0, bytes.size()});
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(file->at(0x1044));
  EXPECT_NE(file->why_not().find("32-bit"), std::string::npos) << file->why_not();
  EXPECT_FALSE(file->has_functions());
  narrow.machine = 0xaa64;
  bytes = narrow.build();
  file = open(bytes, {0, bytes.size()});
  ASSERT_NE(file, nullptr);
  EXPECT_NE(file->why_not().find("another machine"), std::string::npos) << file->why_not();
  EXPECT_EQ(open("no image", {0, 8}), nullptr);
  EXPECT_EQ(open(bytes, {bytes.size() + 5, 100}), nullptr);
}

// A manifest may say anything of a part's size.
TEST_F(PeFileTest, APartThatIsCutShortIsReadAsFarAsItGoes) {
  const std::string bytes = image().build();
  const auto file = open(bytes, {0, uint64_t{1} << 40U});
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(file->at(0x1044));
  EXPECT_FALSE(file->why_not().empty());
}

}  // namespace
}  // namespace jitscope
