// Errors as values: kinds from errno, texts, exit statuses, and the two macros.
#include "base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/diagnostics.h"
#include "base/unique_fd.h"

#include <fcntl.h>

namespace jitscope {
namespace {

using testing::HasSubstr;

TEST(SystemError, TheKindComesFromErrno) {
  EXPECT_EQ(system_error("x", {}, EPERM).kind, ErrorKind::not_permitted);
  EXPECT_EQ(system_error("x", {}, EACCES).kind, ErrorKind::not_permitted);
  EXPECT_EQ(system_error("x", {}, ESRCH).kind, ErrorKind::target_gone);
  EXPECT_EQ(system_error("x", {}, ENOENT).kind, ErrorKind::not_found);
  for (const int code : {0, EIO, EINVAL, ENOSPC, ENOMEM, 4095, -1}) {
    EXPECT_EQ(system_error("x", {}, code).kind, ErrorKind::not_possible) << code;
  }
  const Error error = system_error("cannot open", "/file", EACCES);
  EXPECT_EQ(error.what, "cannot open: Permission denied");
  EXPECT_EQ(error.where, "/file");
  EXPECT_EQ(error.system_errno, EACCES);
  errno = ENOENT;
  EXPECT_EQ(system_error("x").system_errno, ENOENT);
}

TEST(ErrorText, HasTheWhereAndTheHintOnlyWhenThereAre) {
  EXPECT_EQ(to_string(Error{ErrorKind::usage, "what", {}, {}, 0}), "what");
  EXPECT_EQ(to_string(Error{ErrorKind::usage, "what", "where", {}, 0}), "what (where)");
  EXPECT_EQ(to_string(Error{ErrorKind::usage, "what", {}, "hint", 0}), "what; hint");
  EXPECT_EQ(to_string(Error{ErrorKind::usage, "w", {}, {}, 0}.at("place").advise("do")),
            "w (place); do");
}

TEST(ExitStatus, OneAKind) {
  EXPECT_EQ(exit_status(ErrorKind::not_found), 1);
  EXPECT_EQ(exit_status(ErrorKind::usage), 2);
  EXPECT_EQ(exit_status(ErrorKind::not_permitted), 3);
  EXPECT_EQ(exit_status(ErrorKind::not_possible), 3);
  EXPECT_EQ(exit_status(ErrorKind::damaged), 3);
  EXPECT_EQ(exit_status(ErrorKind::target_gone), 4);
}

Result<int> number(bool good) {
  if (!good) return fail(ErrorKind::damaged, "bad number", "here", "look");
  return 7;
}
Result<std::unique_ptr<int>> owned(bool good, int& evaluations) {
  ++evaluations;
  JITSCOPE_ASSIGN(const int value, number(good));
  return std::make_unique<int>(value);
}
Status chain(bool good, bool& reached, int& evaluations) {
  JITSCOPE_TRY(number(true));
  JITSCOPE_ASSIGN(auto first, owned(true, evaluations));
  JITSCOPE_ASSIGN(auto second, owned(good, evaluations));
  reached = *first == *second;
  if (reached) JITSCOPE_TRY(number(good));
  return {};
}

TEST(ResultMacros, LeaveWithTheErrorAndEvaluateOnce) {
  bool reached = false;
  int evaluations = 0;
  EXPECT_TRUE(chain(true, reached, evaluations));
  EXPECT_TRUE(reached);
  EXPECT_EQ(evaluations, 2);

  reached = false;
  evaluations = 0;
  const Status status = chain(false, reached, evaluations);
  ASSERT_FALSE(status);
  EXPECT_FALSE(reached);
  EXPECT_EQ(evaluations, 2);
  EXPECT_EQ(status.error().kind, ErrorKind::damaged);
  EXPECT_EQ(status.error().what, "bad number");
  EXPECT_EQ(status.error().where, "here");
  EXPECT_EQ(status.error().hint, "look");
}

TEST(DiagnosticsTest, CountsByKindAndKeepsTheFirstExample) {
  Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(diagnostics.count("none"), 0U);
  diagnostics.note("b", "first");
  diagnostics.note("b", "second", 4);
  diagnostics.note("a");
  EXPECT_FALSE(diagnostics.empty());
  EXPECT_EQ(diagnostics.count("b"), 5U);
  const auto entries = diagnostics.entries();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].kind, "a");
  EXPECT_EQ(entries[1].first, "first");
  EXPECT_EQ(entries[1].count, 5U);
}

TEST(DiagnosticsTest, AKindIsShownOnce) {
  Diagnostics diagnostics;
  diagnostics.note("one", "x");
  EXPECT_EQ(diagnostics.take_new().size(), 1U);
  diagnostics.note("one", "y");
  EXPECT_TRUE(diagnostics.take_new().empty());
  diagnostics.note("two");
  const auto fresh = diagnostics.take_new();
  ASSERT_EQ(fresh.size(), 1U);
  EXPECT_EQ(fresh[0].kind, "two");
  EXPECT_EQ(diagnostics.count("one"), 2U);
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFdTest, ClosesOnceAndMovesAway) {
  int number = -1;
  {
    UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = first.get();
    ASSERT_TRUE(first);
    UniqueFd second(std::move(first));
    EXPECT_FALSE(first.valid());  // NOLINT: moved from on purpose
    EXPECT_EQ(second.get(), number);
    UniqueFd& same = second;
    second = std::move(same);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
  UniqueFd released(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int kept = released.release();
  released.reset();
  EXPECT_TRUE(is_open(kept));
  ::close(kept);
}

}  // namespace
}  // namespace jitscope
