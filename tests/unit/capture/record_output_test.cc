// What becomes of an earlier recording, and of what a recording leaves.
#include "capture/record_output.h"

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
  ASSERT_TRUE(file->create_names_folder());
  file->discard();
  EXPECT_EQ(read(path_), "earlier");
  EXPECT_EQ(read(path_ + ".jit/jit-1-2.dump"), "names");
  EXPECT_FALSE(fs::exists(path_ + ".old"));
  EXPECT_FALSE(fs::exists(path_ + ".old.jit"));
}

TEST_F(RecordOutput, TheFirstOneLeavesNothing) {
  auto file = RecordFile::create(path_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->create_names_folder());
  file->discard();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(RecordOutput, UnfinishedDumpsGoAndStrangersStay) {
  const std::string names = names_folder(path_);
  auto file = RecordFile::create(path_);
  ASSERT_TRUE(file);
  write(names + "/jit-1-2.dump.new", "half");
  file->tidy_names_folder();
  EXPECT_FALSE(fs::exists(names));
  write(names + "/jit-1-2.dump.new", "half");
  write(names + "/jit-3-4.dump", "whole");
  write(names + "/notes.new", "the user's");
  file->tidy_names_folder();
  EXPECT_FALSE(fs::exists(names + "/jit-1-2.dump.new"));
  EXPECT_TRUE(fs::exists(names + "/jit-3-4.dump"));
  EXPECT_TRUE(fs::exists(names + "/notes.new"));
}

TEST_F(RecordOutput, LinksLeadNowhere) {
  const std::string elsewhere = folder_ + "/elsewhere";
  write(elsewhere + "/jit-1-2.dump", "somebody's");
  fs::create_directory_symlink(elsewhere, names_folder(path_));
  const auto refused = RecordFile::create(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_FALSE(fs::exists(path_));
  fs::remove(names_folder(path_));

  // Neither is what an earlier recording's place holds by now.
  write(path_, "earlier");
  write(names_folder(path_) + "/jit-3-4.dump", "names");
  fs::create_directory_symlink(elsewhere, names_folder(path_ + ".old"));
  EXPECT_FALSE(RecordFile::create(path_));
  EXPECT_EQ(read(path_), "earlier");
  EXPECT_EQ(read(elsewhere + "/jit-1-2.dump"), "somebody's");
  fs::create_symlink(elsewhere + "/jit-1-2.dump", folder_ + "/link");
  EXPECT_FALSE(RecordFile::create(folder_ + "/link"));
  EXPECT_FALSE(RecordFile::create("-"));
}

}  // namespace
}  // namespace jitscope
