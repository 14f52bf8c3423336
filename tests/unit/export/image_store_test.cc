// Where images are laid out for tools, and that only jitscope's own are listed and removed.
#include "export/image_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "export/image_set.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class ImageStoreTest : public test::ScratchFolderTest {
 protected:
  std::string image(const std::string& name) {
    ImageSetOptions options;
    options.output = folder_ + "/" + name + ".elf";
    options.image.title = "title of " + name;
    auto set = ImageSet::create(options);
    ImageBody body;
    body.address = 0x1000;
    body.size = 16;
    body.name = name;
    EXPECT_TRUE(set->add(body, 0));
    EXPECT_TRUE(set->finish());
    return options.output;
  }
  // All that is in a folder, without the folders.
  static std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> out;
    if (!fs::exists(folder)) return out;
    for (const auto& each : fs::recursive_directory_iterator(folder)) {
      if (!each.is_directory() || each.is_symlink()) {
        out.push_back(fs::relative(each.path().parent_path(), folder) / each.path().filename());
      }
    }
    std::ranges::sort(out);
    return out;
  }
};

TEST_F(ImageStoreTest, DebugDirectory) {
  const std::string path = image("one");
  const auto facts = image_facts(path);
  ASSERT_TRUE(facts) << to_string(facts.error());
  EXPECT_EQ(facts->title, "title of one");
  EXPECT_EQ(facts->functions, 1U);
  ASSERT_EQ(facts->build_id.size(), 40U);
  const std::string place =
      ".build-id/" + facts->build_id.substr(0, 2) + "/" + facts->build_id.substr(2) + ".debug";

  const std::string store = folder_ + "/store/deep";
  for (int i = 0; i < 2; ++i) {  // again: the same
    const auto installed = install_image(path, store, StoreLayout::debug_directory);
    ASSERT_TRUE(installed) << to_string(installed.error());
    EXPECT_EQ(*installed, store + "/" + place);
  }
  EXPECT_THAT(files_in(store), ElementsAre(place));
  const auto listed = installed_images(store);
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ((*listed)[0].facts.build_id, facts->build_id);
  EXPECT_EQ(image_facts((*listed)[0].path)->title, "title of one");

  const auto removed = remove_images(store, std::string_view(facts->build_id).substr(0, 4));
  ASSERT_TRUE(removed) << to_string(removed.error());
  EXPECT_THAT(*removed, ElementsAre(store + "/" + place));
  EXPECT_TRUE(files_in(store).empty());
  EXPECT_EQ(remove_images(store, "all").error().kind, ErrorKind::not_found);
}

TEST_F(ImageStoreTest, PerfCache) {
  const std::string path = image("one");
  const std::string id = image_facts(path)->build_id;
  const std::string store = folder_ + "/cache";
  const std::string link = ".build-id/" + id.substr(0, 2) + "/" + id.substr(2);
  for (int i = 0; i < 2; ++i) {
    const auto installed = install_image(path, store, StoreLayout::perf_cache);
    ASSERT_TRUE(installed) << to_string(installed.error());
    EXPECT_EQ(*installed, store + "/" + link + "/elf");
  }
  EXPECT_TRUE(fs::is_symlink(store + "/" + link));
  EXPECT_THAT(files_in(store), ElementsAre(link, "jitscope/one.elf/" + id + "/elf"));
  EXPECT_TRUE(image_facts(store + "/" + link + "/elf"));
  ASSERT_TRUE(remove_images(store, "all"));
  EXPECT_TRUE(files_in(store).empty());
  EXPECT_FALSE(fs::exists(store + "/jitscope"));
}

TEST_F(ImageStoreTest, ForeignFilesStay) {
  const std::string store = folder_ + "/store";
  ASSERT_TRUE(install_image(image("one"), store, StoreLayout::debug_directory));
  ASSERT_TRUE(install_image(image("two"), store, StoreLayout::debug_directory));
  fs::create_directories(store + "/.build-id/ab");
  fs::copy_file("/proc/self/exe", store + "/.build-id/ab/cdef.debug");
  fs::create_symlink("/nowhere", store + "/.build-id/ab/dead.debug");
  ASSERT_EQ(::mkfifo((store + "/.build-id/ab/pipe.debug").c_str(), 0600), 0);
  fs::create_directories(store + "/.build-id/ab/folder/elf");
  write("store/.build-id/ab/text.debug", "text");
  write("store/.build-id/text", "text");

  const auto listed = installed_images(store);
  ASSERT_TRUE(listed) << to_string(listed.error());
  EXPECT_EQ(listed->size(), 2U);
  const auto removed = remove_images(store, "all");
  ASSERT_TRUE(removed) << to_string(removed.error());
  EXPECT_EQ(removed->size(), 2U);
  EXPECT_THAT(files_in(store),
              ElementsAre(".build-id/ab/cdef.debug", ".build-id/ab/dead.debug",
                          ".build-id/ab/pipe.debug", ".build-id/ab/text.debug", ".build-id/text"));
}

TEST_F(ImageStoreTest, OnlyImagesAreInstalledAndNothingIsLeft) {
  const std::string store = folder_ + "/store";
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  for (const std::string& path :
       {write("text", "text"), std::string("/proc/self/exe"), folder_, folder_ + "/pipe"}) {
    const auto installed = install_image(path, store, StoreLayout::debug_directory);
    ASSERT_FALSE(installed) << path;
    EXPECT_EQ(installed.error().kind, ErrorKind::usage) << path;
  }
  EXPECT_EQ(image_facts(folder_ + "/none").error().kind, ErrorKind::not_found);
  EXPECT_FALSE(fs::exists(store));

  // The place is taken by something else: the folders that were made go again.
  const std::string path = image("one");
  const std::string id = image_facts(path)->build_id;
  const std::string place = store + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2);
  fs::create_directories(place + ".debug");
  EXPECT_FALSE(install_image(path, store, StoreLayout::debug_directory));
  fs::create_directories(place);
  EXPECT_FALSE(install_image(path, store, StoreLayout::perf_cache));
  EXPECT_FALSE(fs::exists(store + "/jitscope"));
  EXPECT_TRUE(files_in(store).empty());
}

TEST_F(ImageStoreTest, BeginningsOfBuildIds) {
  const std::string store = folder_ + "/store";
  EXPECT_EQ(remove_images(store, "abc").error().kind, ErrorKind::usage);
  EXPECT_EQ(remove_images(store, "abcd").error().kind, ErrorKind::not_found);
  EXPECT_TRUE(installed_images(store)->empty());
}

}  // namespace
}  // namespace jitscope
