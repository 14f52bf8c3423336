// Folders that nobody else made, entered through no link.
#include "base/output_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/output_file.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;
using ::testing::UnorderedElementsAre;

constexpr uid_t kStranger = 65534;

class OutputFolderTest : public test::ScratchFolderTest {
 protected:
  [[nodiscard]] std::string make(const std::string& name, mode_t mode) const {
    std::string path = folder_ + "/" + name;
    EXPECT_EQ(::mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  static ErrorKind refused(const std::string& path) {
    const auto folder = make_own_folder(path, 0700);
    EXPECT_FALSE(folder) << path;
    return folder ? ErrorKind::damaged : folder.error().kind;
  }
};

TEST_F(OutputFolderTest, MakesItOnceAndRemovesItWhenEmpty) {
  const std::string path = folder_ + "/new";
  const auto made = make_own_folder(path + "/", 0700);
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_TRUE(made->made);
  EXPECT_EQ(*path_of_folder(made->fd.get()), fs::canonical(path));
  const auto again = make_own_folder(path, 0700);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->made);
  write("new/file", "text");
  again->remove();
  EXPECT_TRUE(fs::exists(path));
  fs::remove(path + "/file");
  again->remove();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(make_own_folder(make("other", 0755) + "/.", 0700));
}

TEST_F(OutputFolderTest, NoLinkAndNoOtherKind) {
  fs::create_directory_symlink(make("real", 0700), folder_ + "/link");
  EXPECT_EQ(refused(folder_ + "/link"), ErrorKind::usage);
  EXPECT_EQ(refused(folder_ + "/link/"), ErrorKind::usage);
  EXPECT_EQ(refused(write("file", "")), ErrorKind::usage);
  EXPECT_EQ(refused(folder_ + "/none/x"), ErrorKind::not_found);
}

TEST_F(OutputFolderTest, NoFolderThatOthersMayWriteTo) {
  EXPECT_EQ(refused(make("group", 0770)), ErrorKind::not_permitted);
  EXPECT_EQ(refused(make("all", 0777)), ErrorKind::not_permitted);
  EXPECT_EQ(refused(make("sticky", 01777)), ErrorKind::not_permitted);
}

TEST_F(OutputFolderTest, OfAnotherUserOnlyWhereHeAloneCanHaveMadeIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give files away";
  const std::string home = make("home", 0755);
  const std::string shared = make("shared", 01777);
  for (const std::string& place : {home, shared}) {
    ASSERT_EQ(::mkdir((place + "/folder").c_str(), 0755), 0);
    write(place.substr(folder_.size() + 1) + "/file", "his");
    for (const char* name : {"/folder", "/file"}) {
      ASSERT_EQ(::chown((place + name).c_str(), kStranger, kStranger), 0);
    }
  }
  ASSERT_EQ(::chown(home.c_str(), kStranger, kStranger), 0);
  EXPECT_TRUE(make_own_folder(home + "/folder", 0700));
  EXPECT_EQ(refused(shared + "/folder"), ErrorKind::not_permitted);

  EXPECT_TRUE(OutputFile::create(home + "/file", Replace::own));
  const auto file = OutputFile::create(shared + "/file", Replace::own);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::not_permitted);
  EXPECT_TRUE(OutputFile::create(shared + "/file", Replace::any));
}

TEST_F(OutputFolderTest, RemovesOwnRegularFilesAlone) {
  const std::string path = make("folder", 0700);
  for (const char* name : {"a.so", "b.so", "note"}) write(std::string("folder/") + name, "");
  fs::create_symlink("note", path + "/link.so");
  fs::create_directory(path + "/folder.so");
  const auto folder = make_own_folder(path, 0700);
  ASSERT_TRUE(folder);
  const int fd = folder->fd.get();
  remove_own_files(fd, [](std::string_view name) { return name.ends_with(".so"); });
  EXPECT_THAT(names_in(fd), UnorderedElementsAre("note", "link.so", "folder.so"));
}

// What is written goes to the folder that was there at the beginning.
TEST_F(OutputFolderTest, SwappedForALinkMeanwhile) {
  const std::string path = make("folder", 0700);
  const std::string elsewhere = make("elsewhere", 0700);
  for (const Replace replace : {Replace::never, Replace::own}) {
    auto file = OutputFile::create(path + "/out", replace);
    ASSERT_TRUE(file);
    fs::rename(path, folder_ + "/moved");
    fs::create_directory_symlink(elsewhere, path);
    ASSERT_TRUE(file->write("text"));
    ASSERT_TRUE(file->commit(0600));
    EXPECT_TRUE(fs::is_empty(elsewhere));
    EXPECT_TRUE(fs::exists(folder_ + "/moved/out"));
    fs::remove(path);
    fs::rename(folder_ + "/moved", path);
    fs::remove(path + "/out");
  }
}

TEST_F(OutputFolderTest, PlacesWithoutAName) {
  for (const char* path : {"", "/", ".", "..", "/tmp/", "/tmp/.."}) {
    const auto place = output_place(path);
    ASSERT_FALSE(place) << path;
    EXPECT_EQ(place.error().kind, ErrorKind::usage) << path;
  }
}

}  // namespace
}  // namespace jitscope
