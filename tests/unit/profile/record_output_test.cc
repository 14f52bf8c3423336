// What becomes of an earlier recording, and of what a recording leaves.
#include "profile/record_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace jitscope {
namespace {

namespace fs = std::filesystem;

class RecordOutput : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "record_output_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/perf.data";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void write(const std::string& path, std::string_view text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
  std::string path_;
};

TEST_F(RecordOutput, WhatRecordedNothingGivesTheNameBack) {
  write(path_, "earlier");
  write(path_ + ".jit/jit-1-2.dump", "names");
  auto file = RecordFile::create(path_);
  ASSERT_TRUE(file);
  EXPECT_EQ(read(path_ + ".old"), "earlier");
  ASSERT_TRUE(create_names_folder(names_folder(path_)));
  file->discard();
  EXPECT_EQ(read(path_), "earlier");
  EXPECT_EQ(read(path_ + ".jit/jit-1-2.dump"), "names");
  EXPECT_FALSE(fs::exists(path_ + ".old"));
  EXPECT_FALSE(fs::exists(path_ + ".old.jit"));
}

TEST_F(RecordOutput, TheFirstOneLeavesNothing) {
  auto file = RecordFile::create(path_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(create_names_folder(names_folder(path_)));
  file->discard();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(RecordOutput, UnfinishedDumpsGoAndStrangersStay) {
  const std::string names = names_folder(path_);
  write(names + "/jit-1-2.dump.new", "half");
  tidy_names_folder(names);
  EXPECT_FALSE(fs::exists(names));
  write(names + "/jit-1-2.dump.new", "half");
  write(names + "/jit-3-4.dump", "whole");
  write(names + "/notes.new", "the user's");
  tidy_names_folder(names);
  EXPECT_FALSE(fs::exists(names + "/jit-1-2.dump.new"));
  EXPECT_TRUE(fs::exists(names + "/jit-3-4.dump"));
  EXPECT_TRUE(fs::exists(names + "/notes.new"));
}

}  // namespace
}  // namespace jitscope
