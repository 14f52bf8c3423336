#include "agent/dump_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sys/resource.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/mapped_file.h"

namespace jitscope::agent {
namespace {

class AgentDumpFile : public testing::Test {
 protected:
  AgentDumpFile() {
    std::string name = "/tmp/agent-test-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    file_ = folder_ + "/jit-" + std::to_string(::getpid()) + ".dump";
    ::unsetenv("JITDUMPDIR");
  }
  ~AgentDumpFile() override { std::filesystem::remove_all(folder_); }
  static mode_t mode(const std::string& path) {
    struct stat info{};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0;
  }
  static std::string text(const std::string& path) {
    return read_text_file(path).value_or("(not there)");
  }
  std::string folder_;
  std::string file_;
};

TEST_F(AgentDumpFile, IsPrivateAndHoldsWhatWasAppended) {
  auto dump = DumpFile::create(folder_);
  ASSERT_TRUE(dump);
  EXPECT_EQ((*dump)->path(), file_);
  EXPECT_EQ(mode(file_), 0600U);
  ASSERT_TRUE((*dump)->append("one"));
  ASSERT_TRUE((*dump)->append("two"));
  EXPECT_EQ(text(file_), "onetwo");
}

TEST_F(AgentDumpFile, MarkerShowsInTheMapsOfTheProcess) {
  EXPECT_EQ(mapped_dump(), "");
  auto dump = DumpFile::create(folder_);
  ASSERT_TRUE(dump);
  if (!(*dump)->map_marker()) GTEST_SKIP() << "/tmp is mounted noexec";
  EXPECT_EQ(mapped_dump(), file_);
}

TEST_F(AgentDumpFile, FolderIsMade) {
  ::setenv("JITDUMPDIR", (folder_ + "/made").c_str(), 1);
  ASSERT_TRUE(DumpFile::create(""));
  EXPECT_EQ(mode(folder_ + "/made"), 0700U);
  EXPECT_EQ(DumpFile::create(folder_ + "/one/two").error().kind, ErrorKind::not_found);
}

TEST_F(AgentDumpFile, OneOfAnEarlierProcessIsMovedAway) {
  std::ofstream(file_) << "old";
  auto dump = DumpFile::create(folder_);
  ASSERT_TRUE(dump);
  EXPECT_EQ(text(file_), "");
  EXPECT_EQ(text(file_ + ".old"), "old");
}

TEST_F(AgentDumpFile, OneThatIsWrittenIsLeftAlone) {
  auto first = DumpFile::create(folder_);
  ASSERT_TRUE(first);
  ASSERT_TRUE((*first)->append("first"));
  const auto second = DumpFile::create(folder_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::not_possible);
  EXPECT_EQ(text(file_), "first");
}

TEST_F(AgentDumpFile, LinksAreNotFollowed) {
  const std::string victim = folder_ + "/victim";
  std::ofstream(victim) << "precious";
  std::filesystem::create_symlink(victim, file_);
  EXPECT_FALSE(DumpFile::create(folder_));
  EXPECT_EQ(text(victim), "precious");
  std::filesystem::create_directory_symlink(folder_, folder_ + "/link");
  EXPECT_FALSE(DumpFile::create_private(folder_ + "/link"));
}

TEST_F(AgentDumpFile, FifosDoNotHang) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_FALSE(DumpFile::create(folder_));
}

TEST_F(AgentDumpFile, DefaultFolderMustBePrivate) {
  const std::string open = folder_ + "/open";
  ASSERT_EQ(::mkdir(open.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(open.c_str(), 0755), 0);
  const auto refused = DumpFile::create_private(open);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::not_permitted);
  ASSERT_EQ(::chmod(open.c_str(), 0700), 0);
  EXPECT_TRUE(DumpFile::create_private(open));
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(open.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(DumpFile::create_private(open));
}

TEST_F(AgentDumpFile, WhatDoesNotFitIsTakenBack) {
  auto dump = DumpFile::create(folder_);
  ASSERT_TRUE(dump);
  ASSERT_TRUE((*dump)->append(std::string(3000, 'a')));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status full = (*dump)->append(std::string(2000, 'b'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(full);
  EXPECT_EQ(text(file_), std::string(3000, 'a'));
}

}  // namespace
}  // namespace jitscope::agent
