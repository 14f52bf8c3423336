#include "runtimes/common/perf_map_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace jitscope {
namespace {

namespace fs = std::filesystem;

class PerfMapFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "perf_map_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    map_ = directory_ / "perf-1.map";
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  static void write(const fs::path& path, std::string_view text, bool append = false) {
    std::ofstream(path, append ? std::ios::app : std::ios::trunc) << text;
  }
  Result<UniqueFd> open(bool force = false, uid_t owner = ::geteuid()) {
    return open_perf_map(PerfMapPlace{"", map_}, PerfMapTrust{owner, std::nullopt, force});
  }
  PerfMapFollower::Growth grow() {
    auto fd = open();
    EXPECT_TRUE(fd.has_value());
    auto growth = follower_.read(std::move(*fd));
    EXPECT_TRUE(growth.has_value());
    return growth ? std::move(*growth) : PerfMapFollower::Growth{};
  }

  fs::path directory_;
  fs::path map_;
  Diagnostics diagnostics_;
  PerfMapFollower follower_{diagnostics_, "map"};
};

TEST_F(PerfMapFile, MissingIsNotFound) {
  const auto fd = open();
  ASSERT_FALSE(fd);
  EXPECT_EQ(fd.error().kind, ErrorKind::not_found);
}

TEST_F(PerfMapFile, SymbolicLinkIsRefusedUnlessForced) {
  write(directory_ / "real", "10 2 a\n");
  fs::create_symlink(directory_ / "real", map_);
  const auto fd = open();
  ASSERT_FALSE(fd);
  EXPECT_EQ(fd.error().kind, ErrorKind::not_permitted);
  EXPECT_NE(fd.error().what.find("symbolic link"), std::string::npos);
  EXPECT_TRUE(open(true).has_value());
}

TEST_F(PerfMapFile, FifoAndDeviceAreRefusedAlways) {
  ASSERT_EQ(::mkfifo(map_.c_str(), 0600), 0);
  for (const bool force : {false, true}) {
    const auto fd = open(force);  // and does not wait for a writer
    ASSERT_FALSE(fd);
    EXPECT_NE(fd.error().what.find("FIFO"), std::string::npos);
  }
  fs::remove(map_);
  fs::create_symlink("/dev/zero", map_);
  const auto fd = open(true);
  ASSERT_FALSE(fd);
  EXPECT_NE(fd.error().what.find("device"), std::string::npos);
  fs::remove(map_);
  fs::create_directory(map_);
  EXPECT_FALSE(open(true));
}

TEST_F(PerfMapFile, ForeignOwnerIsRefusedUnlessForced) {
  write(map_, "10 2 a\n");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(map_.c_str(), 12345, 12345), 0);
  const auto fd = open();
  ASSERT_FALSE(fd);
  EXPECT_NE(fd.error().what.find("12345"), std::string::npos);
  EXPECT_FALSE(fd.error().hint.empty());
  EXPECT_TRUE(open(true).has_value());
  EXPECT_TRUE(open(false, 12345).has_value());
}

TEST_F(PerfMapFile, OlderThanTheProcessIsRefusedUnlessForced) {
  write(map_, "10 2 a\n");
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, map_.c_str(), old, 0), 0);
  const PerfMapPlace place{"", map_};
  EXPECT_FALSE(open_perf_map(place, PerfMapTrust{::geteuid(), 1'001'000'000'000, false}));
  EXPECT_TRUE(open_perf_map(place, PerfMapTrust{::geteuid(), 1'001'000'000'000, true}));
  EXPECT_TRUE(open_perf_map(place, PerfMapTrust{::geteuid(), 999'000'000'000, false}));
}

TEST_F(PerfMapFile, PathsAreResolvedInsideTheRoot) {
  const fs::path root = directory_ / "root";
  fs::create_directories(root / "private");
  write(root / "private" / "perf-1.map", "10 2 inside\n");
  fs::create_symlink("/private", root / "tmp");  // absolute: means the root's own
  const auto fd = open_perf_map(PerfMapPlace{root, "/tmp/perf-1.map"},
                                PerfMapTrust{::geteuid(), std::nullopt, false});
  ASSERT_TRUE(fd) << to_string(fd.error());
}

TEST_F(PerfMapFile, StartTimeOfThisProcess) {
  const auto self = Process::open(::getpid());
  ASSERT_TRUE(self);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const int64_t now_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  EXPECT_LE(start_time_ns(*self), now_ns);
  write(map_, "10 2 a\n");
  EXPECT_TRUE(open_perf_map(*self, PerfMapPlace{"", map_}, false)) << "written by this process";
}

TEST_F(PerfMapFile, GrowsByWholeLines) {
  write(map_, "10 2 a\n20 2 b");
  EXPECT_EQ(grow().lines.size(), 1U);
  EXPECT_EQ(grow().lines.size(), 0U);
  write(map_, "b\n30 2 c\n", true);
  const auto growth = grow();
  EXPECT_FALSE(growth.anew);
  ASSERT_EQ(growth.lines.size(), 2U);
  EXPECT_EQ(growth.lines[0].name, "bb");
  EXPECT_EQ(growth.lines[1].number, 3U);
}

TEST_F(PerfMapFile, TruncatedRewrittenAndReplacedStartAnew) {
  write(map_, "10 2 a\n20 2 b\n");
  EXPECT_EQ(grow().lines.size(), 2U);
  write(map_, "30 2 c\n");  // shorter
  auto growth = grow();
  EXPECT_TRUE(growth.anew);
  ASSERT_EQ(growth.lines.size(), 1U);
  EXPECT_EQ(growth.lines[0].number, 1U);

  write(map_, "40 2 d\n50 2 e\n60 2 f\n");  // longer, but not what was there
  growth = grow();
  EXPECT_TRUE(growth.anew);
  EXPECT_EQ(growth.lines.size(), 3U);

  write(directory_ / "new", "40 2 d\n50 2 e\n60 2 f\n70 2 g\n");
  fs::rename(directory_ / "new", map_);
  growth = grow();
  EXPECT_TRUE(growth.anew);
  EXPECT_EQ(growth.lines.size(), 4U);
}

TEST_F(PerfMapFile, GoesOnWithARemovedFile) {
  write(map_, "10 2 a\n");
  EXPECT_EQ(grow().lines.size(), 1U);
  std::ofstream writer(map_, std::ios::app);
  fs::remove(map_);
  writer << "20 2 b\n" << std::flush;
  const auto growth = follower_.read_on();
  ASSERT_TRUE(growth);
  EXPECT_FALSE(growth->anew);
  EXPECT_EQ(growth->lines.size(), 1U);
}

TEST_F(PerfMapFile, LargerThanOneChunk) {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "10 2 a name of some length " + std::to_string(i) + "\n";
  ASSERT_GT(text.size(), size_t{1} << 20U);
  write(map_, text);
  EXPECT_EQ(grow().lines.size(), 60000U);
  write(map_, "20 2 more\n", true);
  const auto growth = grow();
  EXPECT_FALSE(growth.anew);
  EXPECT_EQ(growth.lines.size(), 1U);
}

TEST_F(PerfMapFile, ALargeMapIsReadPieceByPiece) {
  std::string text;
  constexpr size_t lines = 300'000;
  for (size_t i = 0; i < lines; ++i) text += "10 1 a name of some length\n";
  ASSERT_GT(text.size(), 3 * PerfMapFollower::kMostAtOnce);
  write(map_, text);
  size_t seen = 0;
  size_t pieces = 0;
  for (bool more = true; more; ++pieces) {
    const auto growth = grow();
    seen += growth.lines.size();
    more = growth.more;
    EXPECT_LT(growth.lines.size(), lines / 2);
    EXPECT_EQ(more, follower_.unread() != 0);
  }
  EXPECT_EQ(seen, lines);
  EXPECT_GT(pieces, 3U);
}

}  // namespace
}  // namespace jitscope
