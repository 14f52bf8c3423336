// Which file says that a process is frozen, from made-up cgroup trees.
#include "surgery/freezer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace jitscope {
namespace {

class Freezer : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fmt::format("{}/freezer-{}", testing::TempDir(), ::getpid());
    std::filesystem::create_directories(folder_ + "/two/shop");
    std::filesystem::create_directories(folder_ + "/one/shop");
    mounts_ = fmt::format(
        "30 20 0:26 / {0}/two rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
        "31 20 0:27 / {0}/cpu rw - cgroup cgroup rw,cpu\n"
        "32 20 0:28 / {0}/one rw - cgroup cgroup rw,freezer\n"
        "33 20 0:29 / / rw - ext4 /dev/vda rw\n\ngarbage\n",
        folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + name) << text;
  }
  std::string folder_;
  std::string mounts_;
};

TEST_F(Freezer, VersionTwo) {
  const std::string cgroup = "6:freezer:/\n0::/shop\n";
  EXPECT_EQ(frozen_by(cgroup, mounts_), "");
  write("/two/shop/cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_EQ(frozen_by(cgroup, mounts_), "");
  write("/two/shop/cgroup.events", "populated 1\nfrozen 1\n");
  EXPECT_EQ(frozen_by(cgroup, mounts_), folder_ + "/two/shop/cgroup.events");
}

TEST_F(Freezer, VersionOne) {
  const std::string cgroup = "7:cpu:/shop\n6:pids,freezer:/shop\n0::/\n";
  write("/one/shop/freezer.state", "THAWED\n");
  EXPECT_EQ(frozen_by(cgroup, mounts_), "");
  for (const char* state : {"FROZEN\n", "FREEZING\n"}) {
    write("/one/shop/freezer.state", state);
    EXPECT_EQ(frozen_by(cgroup, mounts_), folder_ + "/one/shop/freezer.state");
  }
}

TEST_F(Freezer, APartOfTheTreeIsMounted) {
  write("/two/shop/cgroup.events", "frozen 1\n");
  const std::string part = fmt::format("30 20 0:26 /box {}/two rw - cgroup2 cgroup2 rw\n", folder_);
  EXPECT_EQ(frozen_by("0::/box/shop\n", part), folder_ + "/two/shop/cgroup.events");
  EXPECT_EQ(frozen_by("0::/boxes/shop\n", part), "");
  EXPECT_EQ(frozen_by("0::/../shop\n", mounts_), "");
}

TEST_F(Freezer, WhatMakesNoSenseIsNotFrozen) {
  for (const char* text : {"", "0", "0:", "0::", ":::", "x\ny", "0::/nowhere"}) {
    EXPECT_EQ(frozen_by(text, mounts_), "");
    EXPECT_EQ(frozen_by("0::/shop", text), "");
  }
}

TEST(FreezerHere, ThisProcessRuns) {
  EXPECT_EQ(frozen_by(::getpid()), "");
}

}  // namespace
}  // namespace jitscope
