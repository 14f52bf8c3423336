// What is noticed of a perf map, by whatever way it comes and changes.
#include "runtimes/common/map_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/support/scratch_folder.h"

namespace jitscope {
namespace {

class MapWatchTest : public test::ScratchFolderTest {
 protected:
  void SetUp() override {
    ScratchFolderTest::SetUp();
    auto process = Process::open(::getpid());
    ASSERT_TRUE(process);
    process_.emplace(std::move(*process));
  }
  std::unique_ptr<MapWatch> open(const std::string& prefix = {}) {
    auto watch = MapWatch::open(*process_, prefix + folder_ + "/perf-1.map");
    EXPECT_TRUE(watch) << to_string(watch.error());
    return watch ? std::move(*watch) : nullptr;
  }
  void append(const std::string& name) {
    std::ofstream(folder_ + "/" + name, std::ios::app) << "1000 10 f\n";
  }
  std::optional<Process> process_;
};

TEST_F(MapWatchTest, NoticesThatItGrows) {
  append("perf-1.map");
  for (const std::string& prefix :
       {std::string(), std::string("/proc/") + std::to_string(::getpid()) + "/root"}) {
    auto watch = open(prefix);
    ASSERT_TRUE(watch);
    EXPECT_TRUE(watch->complete());
    EXPECT_FALSE(watch->changed());
    append("perf-1.map");
    EXPECT_TRUE(watch->changed());
    EXPECT_FALSE(watch->changed());
    append("perf-2.map");
    EXPECT_FALSE(watch->changed());
  }
}

TEST_F(MapWatchTest, NoticesThatItIsMadeAndReplaced) {
  auto watch = open();
  ASSERT_TRUE(watch);
  EXPECT_FALSE(watch->complete());
  append("perf-1.map");
  EXPECT_TRUE(watch->changed());
  EXPECT_TRUE(watch->complete());
  (void)watch->changed();
  append("new");
  EXPECT_FALSE(watch->changed());
  std::filesystem::rename(folder_ + "/new", folder_ + "/perf-1.map");
  EXPECT_TRUE(watch->changed());
  (void)watch->changed();
  append("perf-1.map");  // the new file is watched too
  EXPECT_TRUE(watch->changed());
}

TEST_F(MapWatchTest, FollowsNoLinksAndWaitsForNoFifo) {
  append("other");
  std::filesystem::create_symlink(folder_ + "/other", folder_ + "/perf-1.map");
  auto watch = open();
  ASSERT_TRUE(watch);
  EXPECT_FALSE(watch->complete());
  append("other");
  EXPECT_FALSE(watch->changed());
  std::filesystem::remove(folder_ + "/perf-1.map");
  ASSERT_EQ(::mkfifo((folder_ + "/perf-1.map").c_str(), 0600), 0);
  EXPECT_TRUE(watch->changed());
  EXPECT_FALSE(watch->complete());
}

TEST_F(MapWatchTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(MapWatch::open(*process_, folder_ + "/none/perf-1.map"));
}

TEST_F(MapWatchTest, ManyEventsAreTakenInParts) {
  append("perf-1.map");
  auto watch = open();
  ASSERT_TRUE(watch);
  for (int i = 0; i < 2000; ++i) {
    append("other" + std::to_string(i));  // each an event of the folder
  }
  append("perf-1.map");
  bool seen = false;
  for (int i = 0; i < 100 && !seen; ++i) seen = watch->changed();
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace jitscope
