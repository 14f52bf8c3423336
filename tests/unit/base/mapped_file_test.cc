// Files of strange kinds: what is mapped, what is read, and that nothing blocks.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"

namespace jitscope {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string form = testing::TempDir() + "/mapped-XXXXXX";
    ASSERT_NE(::mkdtemp(form.data()), nullptr);
    directory_ = form;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string directory_;
};

TEST_F(MappedFileTest, MapsTheBytesOfARegularFile) {
  auto mapped = MappedFile::open(file("some", std::string("a\0b", 3)));
  ASSERT_TRUE(mapped);
  EXPECT_THAT(mapped->bytes(), testing::ElementsAre(std::byte{'a'}, std::byte{0}, std::byte{'b'}));
  MappedFile moved(std::move(*mapped));
  EXPECT_EQ(moved.bytes().size(), 3U);
  EXPECT_TRUE(mapped->bytes().empty());
  auto other = MappedFile::open(file("other", "longer text"));
  ASSERT_TRUE(other);
  moved = std::move(*other);
  EXPECT_EQ(moved.bytes().size(), 11U);
}

TEST_F(MappedFileTest, AnEmptyFileIsNoError) {
  auto mapped = MappedFile::open(file("empty", ""));
  ASSERT_TRUE(mapped);
  EXPECT_TRUE(mapped->bytes().empty());
}

TEST_F(MappedFileTest, RefusesWhatIsNoRegularFileWithoutWaiting) {
  const std::string fifo = directory_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, directory_, std::string("/dev/null")}) {
    auto mapped = MappedFile::open(path);
    ASSERT_FALSE(mapped) << path;
    EXPECT_EQ(mapped.error().kind, ErrorKind::not_possible);
    EXPECT_EQ(mapped.error().where, path);
  }
  auto missing = MappedFile::open(directory_ + "/missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
}

TEST_F(MappedFileTest, TextUpToTheLimitAndNotBeyond) {
  const std::string text(100'000, 'x');
  const std::string path = file("text", text);
  auto whole = read_text_file(path, text.size());
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, text);
  auto too_much = read_text_file(path, text.size() - 1);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().kind, ErrorKind::damaged);
  EXPECT_EQ(too_much.error().where, path);
  auto nothing_allowed = read_text_file(path, 0);
  EXPECT_FALSE(nothing_allowed);
  auto empty = read_text_file(file("empty", ""), 0);
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, "");
}

TEST_F(MappedFileTest, TextThatNeverEndsEndsAtTheLimit) {
  auto endless = read_text_file("/dev/zero", 1U << 20U);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().kind, ErrorKind::damaged);
}

TEST_F(MappedFileTest, FilesOfProcHaveNoSizeBeforehand) {
  auto status = read_text_file("/proc/self/status");
  ASSERT_TRUE(status);
  EXPECT_THAT(*status, testing::StartsWith("Name:"));
}

TEST_F(MappedFileTest, AFifoDoesNotBlock) {
  const std::string fifo = directory_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  auto nobody_writes = read_text_file(fifo);
  ASSERT_TRUE(nobody_writes);
  EXPECT_EQ(*nobody_writes, "");
  const UniqueFd silent_writer(::open(fifo.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(silent_writer);
  auto waiting = read_text_file(fifo);
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().system_errno, EAGAIN);
  EXPECT_FALSE(read_text_file(directory_));
}

}  // namespace
}  // namespace jitscope
