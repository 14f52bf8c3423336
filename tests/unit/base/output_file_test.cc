// Files that are there whole or not at all.
#include "base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/scratch_folder.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public test::ScratchFolderTest {
 protected:
  [[nodiscard]] auto files() const { return std::distance(fs::directory_iterator(folder_), {}); }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(OutputFileTest, HasItsNameAtTheEnd) {
  const std::string path = folder_ + "/out";
  auto file = OutputFile::create(path, Replace::never);
  ASSERT_TRUE(file) << to_string(file.error());
  const auto twice = file->duplicate();
  ASSERT_TRUE(twice);
  ASSERT_EQ(::write(twice->get(), "text", 4), 4);
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(file->commit(0640));
  EXPECT_EQ(content(path), "text");
  struct stat status = {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
  {
    auto file = OutputFile::create(folder_ + "/out", Replace::own);
    ASSERT_TRUE(file);
    ASSERT_EQ(::write(file->fd(), "text", 4), 4);
    const OutputFile moved = std::move(*file);
    EXPECT_EQ(moved.path(), folder_ + "/out");
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(OutputFileTest, ReplacesRegularFilesOnlyWhenAsked) {
  const std::string path = write("out", "old");
  EXPECT_EQ(OutputFile::create(path, Replace::never).error().kind, ErrorKind::usage);
  auto file = OutputFile::create(path, Replace::own);
  ASSERT_TRUE(file);
  ASSERT_EQ(::write(file->fd(), "new", 3), 3);
  EXPECT_EQ(content(path), "old");
  ASSERT_TRUE(file->commit(0600));
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(files(), 1);

  fs::create_symlink(path, folder_ + "/link");
  EXPECT_EQ(OutputFile::create(folder_ + "/link", Replace::own).error().kind, ErrorKind::usage);
  EXPECT_EQ(OutputFile::create(folder_, Replace::own).error().kind, ErrorKind::usage);
}

TEST_F(OutputFileTest, LeavesWhatCameMeanwhile) {
  const std::string path = folder_ + "/out";
  auto file = OutputFile::create(path, Replace::never);
  ASSERT_TRUE(file);
  write("out", "somebody's");
  const Status refused = file->commit(0600);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_EQ(content(path), "somebody's");

  // A device or a pipe is not replaced even when replacing was asked for.
  auto other = OutputFile::create(folder_ + "/pipe", Replace::own);
  ASSERT_TRUE(other);
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(other->commit(0600));
  EXPECT_TRUE(fs::is_fifo(folder_ + "/pipe"));
}

TEST_F(OutputFileTest, NoFolder) {
  const auto file = OutputFile::create(folder_ + "/none/out", Replace::never);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace jitscope
