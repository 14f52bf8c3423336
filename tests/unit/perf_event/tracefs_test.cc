// Where tracefs is; that it is not taken to be where only a directory of that name is.
#include "perf_event/tracefs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace jitscope {
namespace {

TEST(Tracefs, ADirectoryIsNotAMount) {
  const std::string folder = testing::TempDir() + "/tracefs-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder + "/tracing");
  EXPECT_EQ(tracefs_directory(folder, folder), "");
  EXPECT_EQ(tracefs_directory("/nowhere", "/nowhere"), "");
  std::filesystem::remove_all(folder);
}

TEST(Tracefs, WhereItIsMountedItHasUprobeEvents) {
  const std::string here = tracefs_directory();
  if (here.empty()) GTEST_SKIP() << "no tracefs on this machine";
  EXPECT_TRUE(std::filesystem::exists(here + "/uprobe_events"));
}

TEST(Tracefs, TheMessageSaysWhatToDo) {
  EXPECT_NE(tracefs_missing().find("mount -t tracefs"), std::string::npos);
}

}  // namespace
}  // namespace jitscope
