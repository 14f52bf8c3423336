// Opening below another root: no name and no link leads out of it; and which files are read whole.
#include "base/open_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace jitscope {
namespace {

namespace fs = std::filesystem;

class OpenFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "open-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directories(root() + "/inside");
    std::ofstream(folder_ + "/secret") << "host";
    std::ofstream(root() + "/inside/file") << "theirs";
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string root() const { return folder_ + "/root"; }
  // What is read from a path inside the root; "-" when it cannot be opened.
  [[nodiscard]] std::string read(const std::string& path) const {
    const auto file = open_regular_file(path, root());
    if (!file) return "-";
    std::string text(16, ' ');
    const ssize_t got = ::read(file->fd.get(), text.data(), text.size());
    return text.substr(0, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }
  void link(const std::string& to) const {
    fs::remove(root() + "/link");
    fs::create_symlink(to, root() + "/link");
  }

  std::string folder_;
};

TEST_F(OpenFile, LinksMeanTheRootsOwnFiles) {
  EXPECT_EQ(read("/inside/file"), "theirs");
  link("/inside/file");
  EXPECT_EQ(read("/link"), "theirs");
  link("/inside");
  EXPECT_EQ(read("/link/file"), "theirs");
}

TEST_F(OpenFile, NothingLeadsOutOfTheRoot) {
  link(folder_ + "/secret");
  EXPECT_EQ(read("/link"), "-") << "an absolute link to a file of ours";
  link("../secret");
  EXPECT_EQ(read("/link"), "-") << "a relative one";
  EXPECT_EQ(read("/../secret"), "-");
  EXPECT_EQ(read("/inside/../../secret"), "-");
  const int fd = ::open((folder_ + "/secret").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  link("/proc/self/fd/" + std::to_string(fd));
  EXPECT_EQ(read("/link"), "-") << "a link of the kernel's";
  ::close(fd);
}

TEST_F(OpenFile, OnlyRegularFiles) {
  ASSERT_EQ(::mkfifo((root() + "/fifo").c_str(), 0600), 0);
  const auto fifo = open_regular_file("/fifo", root());
  ASSERT_FALSE(fifo);
  EXPECT_EQ(fifo.error().kind, ErrorKind::damaged);
  EXPECT_FALSE(open_regular_file("/inside", root()));
}

TEST_F(OpenFile, FilesOfHolesAreTooLarge) {
  const std::string path = folder_ + "/holes";
  std::ofstream(path) << "some";
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(why_too_large(status, 100), "");
  EXPECT_EQ(why_too_large(status, 3), "is 4 bytes large");
  std::error_code error;
  fs::resize_file(path, uintmax_t{1} << 40U, error);
  if (error) GTEST_SKIP() << "no file of 1 TiB can be made here";
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_THAT(why_too_large(status, UINT64_MAX), testing::HasSubstr("is 1.0 TiB large, of which"));
}

}  // namespace
}  // namespace jitscope
