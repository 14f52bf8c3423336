// Which image a body goes to, and that an unfinished set leaves nothing.
#include "export/image_set.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "export/image_build.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;

TEST(EpochPlan, OverlapsGoToLaterImages) {
  EpochPlan plan;
  EXPECT_EQ(plan.place(0x1000, 0x100), 0U);
  EXPECT_EQ(plan.place(0x1100, 0x100), 0U);  // they touch
  EXPECT_EQ(plan.place(0x0f00, 0x100), 0U);
  EXPECT_EQ(plan.place(0x10ff, 1), 1U);
  EXPECT_EQ(plan.place(0x1000, 0x200), 2U);  // over both
  EXPECT_EQ(plan.place(0x1150, 1), 1U);
  EXPECT_EQ(plan.place(0x0, 0x10000), 3U);
}

TEST(EpochPlan, AsManyAsThereAreImages) {
  EpochPlan plan;
  for (uint32_t i = 0; i < EpochPlan::kMostEpochs; ++i) EXPECT_EQ(plan.place(5, 5), i);
  EXPECT_EQ(plan.place(5, 5), std::nullopt);
  EXPECT_EQ(plan.place(10, 5), 0U);
}

TEST(WithoutParameters, OnlyThoseOfMethods) {
  EXPECT_EQ(without_parameters("a.B.c(int,java.lang.String)"), "a.B.c");
  EXPECT_EQ(without_parameters("a.B.c()"), "a.B.c");
  EXPECT_EQ(without_parameters("a.B.c"), "a.B.c");
  EXPECT_EQ(without_parameters("handle /srv/app (1).js:1:2"), "handle /srv/app (1).js:1:2");
  EXPECT_EQ(without_parameters("StubRoutines (1)"), "StubRoutines (1)");
  EXPECT_EQ(without_parameters("(anonymous)"), "(anonymous)");
  EXPECT_EQ(without_parameters("A.even (number)(int)"), "A.even (number)");
  EXPECT_EQ(without_parameters("operator()"), "operator()");
  EXPECT_EQ(without_parameters("operator()(int)"), "operator()");
}

class ImageSetTest : public test::ScratchFolderTest {};

ImageBody body(uint64_t address, std::string_view name) {
  ImageBody out;
  out.address = address;
  out.size = 16;
  out.name = name;
  return out;
}

TEST_F(ImageSetTest, OneFileForEachTime) {
  ImageSetOptions options;
  options.output = folder_ + "/code.elf";
  auto set = ImageSet::create(options);
  ASSERT_TRUE(set) << to_string(set.error());
  ASSERT_TRUE(set->add(body(0x1000, "new"), 0));
  ASSERT_TRUE(set->add(body(0x1000, "old"), 1));
  EXPECT_FALSE(fs::exists(options.output));
  const auto images = set->finish();
  ASSERT_TRUE(images) << to_string(images.error());
  ASSERT_EQ(images->size(), 2U);
  EXPECT_EQ((*images)[0].path, options.output);
  EXPECT_EQ((*images)[1].path, options.output + ".2");
  EXPECT_EQ((*images)[0].summary.bodies, 1U);
  EXPECT_TRUE(fs::exists(options.output));
  EXPECT_NE((*images)[0].summary.build_id, (*images)[1].summary.build_id);
}

TEST_F(ImageSetTest, PackedIsOneFile) {
  ImageSetOptions options;
  options.output = folder_ + "/code.elf";
  options.packed = true;
  auto set = ImageSet::create(options);
  ASSERT_TRUE(set);
  ASSERT_TRUE(set->add(body(0x1000, "new"), 0));
  ASSERT_TRUE(set->add(body(0x1000, "old"), 1));
  const auto images = set->finish();
  ASSERT_TRUE(images) << to_string(images.error());
  ASSERT_EQ(images->size(), 1U);
  EXPECT_EQ((*images)[0].summary.bodies, 2U);
}

TEST_F(ImageSetTest, LeavesNothingUnfinished) {
  ImageSetOptions options;
  options.output = folder_ + "/code.elf";
  {
    auto set = ImageSet::create(options);
    ASSERT_TRUE(set);
    ASSERT_TRUE(set->add(body(0x1000, "a"), 0));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ImageSetTest, ReplacesOnlyByForce) {
  ImageSetOptions options;
  options.output = folder_ + "/code.elf";
  std::ofstream(options.output) << "mine";
  const auto refused = ImageSet::create(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  options.force = true;
  auto set = ImageSet::create(options);
  ASSERT_TRUE(set);
  ASSERT_TRUE(set->add(body(0x1000, "a"), 0));
  ASSERT_TRUE(set->finish());
  EXPECT_GT(fs::file_size(options.output), 100U);
}

TEST_F(ImageSetTest, NeverReplacesADeviceALinkOrAFolder) {
  const std::string target = write("target", "mine");
  const std::string link = folder_ + "/link";
  const std::string pipe = folder_ + "/pipe";
  fs::create_symlink(target, link);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& output : {link, pipe, folder_, std::string(1, '-')}) {
    ImageSetOptions options;
    options.output = output;
    options.force = true;
    const auto refused = ImageSet::create(options);
    ASSERT_FALSE(refused) << output;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage) << output;
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(fs::file_size(target), 4U);
}

}  // namespace
}  // namespace jitscope
