// Which of the two files of --map is the map, and what is none.
#include "naming/offline_map_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "support/pe_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using ::testing::HasSubstr;

class OfflineMapFileTest : public test::ScratchFolderTest {
 protected:
  void SetUp() override {
    ScratchFolderTest::SetUp();
    map_ = write("names.map", "# names\n10 20 f\n");
    flat_ = write("code.bin", std::string("\x90\xc3\0\x90", 4));
    test::PeBuilder pe;
    pe.sections = {{".text", 0x1000, std::string(0x200, '\x90')}};
    pe_ = write("a.dll", pe.build());
  }
  void opens(const std::string& text, const std::string& image) {
    const auto opened = open_offline_map(text);
    ASSERT_TRUE(opened) << text << ": " << to_string(opened.error());
    EXPECT_EQ(opened->option.file, map_) << text;
    EXPECT_EQ(opened->option.image, image) << text;
    EXPECT_EQ(opened->map->index().entries(), 1U);
  }
  void fails(const std::string& text, ErrorKind kind) {
    const auto opened = open_offline_map(text);
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().kind, kind) << to_string(opened.error());
    EXPECT_NE(opened.error().hint, "") << text;
  }
  std::string map_, flat_, pe_;
};

TEST_F(OfflineMapFileTest, TheImageStandsFirst) {
  for (const std::string& image : {flat_, pe_, std::string("a.dll"), std::string("/gone/a.dll"),
                                   std::string("/gone/app!a.dll")}) {
    opens(image + "=" + map_, image);
  }
}

TEST_F(OfflineMapFileTest, TheOtherWayRoundIsUnderstood) {
  for (const std::string& image :
       {flat_, pe_, std::string("no-such.dll"), std::string("/gone/app!a.dll")}) {
    opens(map_ + "=" + image, image);
  }
  const auto opened = open_offline_map(map_ + "=" + pe_ + ":base=rva");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->map->base(), OfflineMapBase::rva);
}

TEST_F(OfflineMapFileTest, FilesThatAreNotThere) {
  fails(flat_ + "=/nonexistent", ErrorKind::not_found);
  fails("a.dll=/nonexistent", ErrorKind::not_found);
  fails("/nonexistent=/x", ErrorKind::not_found);
  // As the map's file is told first, this is an image that is not here.
  fails(map_ + "=/gone/a.dll", ErrorKind::not_found);
}

TEST_F(OfflineMapFileTest, FilesThatAreNoMaps) {
  fails(pe_ + "=" + pe_, ErrorKind::usage);
  fails(flat_ + "=" + folder_, ErrorKind::damaged);
  ASSERT_EQ(::mkfifo((folder_ + "/fifo").c_str(), 0600), 0);
  const auto waits = open_offline_map(flat_ + "=" + folder_ + "/fifo");
  EXPECT_FALSE(waits);
  EXPECT_FALSE(open_offline_map("nothing"));
}

// Taken as they are: what is wrong with them is told when the samples were seen.
TEST_F(OfflineMapFileTest, MapsWithoutALine) {
  for (const std::string& text :
       {std::string(), std::string("\0\1\2", 3), std::string("hello\n")}) {
    const auto opened = open_offline_map(flat_ + "=" + write("odd.map", text));
    ASSERT_TRUE(opened) << to_string(opened.error());
    EXPECT_EQ(opened->option.image, flat_);
    EXPECT_EQ(opened->map->index().entries(), 0U);
  }
  const auto wrong = open_offline_map(flat_ + "=" + write("odd.map", "# size: many\n10 1 f\n"));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::damaged);
}

}  // namespace
}  // namespace jitscope
