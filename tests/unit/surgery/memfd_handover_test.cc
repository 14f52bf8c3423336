// Only the memfd that was just made is opened for writing, whatever lies at its number by now.
#include "surgery/memfd_handover.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

namespace jitscope {
namespace {

using testing::HasSubstr;

class TakeOverMemfd : public testing::Test {
 protected:
  void SetUp() override {
    auto process = Process::open(::getpid());
    ASSERT_TRUE(process) << to_string(process.error());
    process_.emplace(std::move(*process));
    auto name = unique_memfd_name("jitscope-test");
    ASSERT_TRUE(name);
    name_ = *name;
  }
  static UniqueFd memfd(const std::string& name) {
    return UniqueFd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  std::string refusal(const UniqueFd& fd) {
    const auto taken = take_over_memfd(*process_, fd.get(), name_);
    return taken ? "" : taken.error().what;
  }
  std::optional<Process> process_;
  std::string name_;
};

TEST_F(TakeOverMemfd, IsOursAfterwards) {
  const UniqueFd made = memfd(name_);
  const auto taken = take_over_memfd(*process_, made.get(), name_);
  ASSERT_TRUE(taken) << to_string(taken.error());
  EXPECT_EQ(::write(taken->get(), "x", 1), 1);
  struct stat one{};
  struct stat other{};
  ASSERT_EQ(::fstat(made.get(), &one), 0);
  ASSERT_EQ(::fstat(taken->get(), &other), 0);
  EXPECT_EQ(one.st_ino, other.st_ino);
  EXPECT_EQ(one.st_uid, ::geteuid());
  EXPECT_EQ(one.st_mode & 0022U, 0U);
  EXPECT_NE(::ftruncate(made.get(), 0), 0);  // code that a process runs cannot vanish
}

TEST_F(TakeOverMemfd, AnyOtherFileIsRefused) {
  std::string path = testing::TempDir() + "/handover-XXXXXX";
  const UniqueFd file(::mkstemp(path.data()));
  EXPECT_THAT(refusal(file), HasSubstr("it is no memfd"));
  ::unlink(path.c_str());
  EXPECT_THAT(refusal(file), HasSubstr("it is no memfd"));
  EXPECT_THAT(refusal(UniqueFd(::open("/dev/null", O_RDONLY))), HasSubstr("it is no memfd"));
  EXPECT_THAT(refusal(memfd("jitscope-test")), HasSubstr("its name is another"));
  const UniqueFd used = memfd(name_);
  ASSERT_EQ(::write(used.get(), "x", 1), 1);
  EXPECT_THAT(refusal(used), HasSubstr("it is not empty"));
  EXPECT_FALSE(refusal(UniqueFd()).empty());
}

TEST_F(TakeOverMemfd, NoNameComesTwice) {
  EXPECT_NE(unique_memfd_name("a").value(), unique_memfd_name("a").value());
  EXPECT_THAT(name_, testing::StartsWith("jitscope-test-"));
}

}  // namespace
}  // namespace jitscope
