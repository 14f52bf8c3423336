// The two kinds of perf event, opened where they can be and where they cannot.
#include "perf_event/perf_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/process/call_target.h"

namespace jitscope {
namespace {

using testing::HasSubstr;

class PerfEventTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root for perf events of other processes";
    file_ = testing::TempDir() + "/jitscope-perf-event-test";
    std::ofstream out(file_, std::ios::binary);
    const std::string nops(4096, '\x90');
    out << nops;
  }
  void TearDown() override { ::unlink(file_.c_str()); }
  std::string file_;
};

TEST_F(PerfEventTest, AUprobeNeedsItsFileAndAnInstructionThere) {
  EXPECT_TRUE(open_uprobe_event(file_, 0x10, ::getpid()));
  const auto missing = open_uprobe_event(file_ + "-missing", 0, ::getpid());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_THAT(missing.error().where, HasSubstr("-missing:0x0"));
  const auto beyond = open_uprobe_event(file_, 1U << 30U, ::getpid());
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().kind, ErrorKind::not_possible);
  EXPECT_FALSE(open_uprobe_event("/tmp", 0, ::getpid()));
  EXPECT_FALSE(open_uprobe_event("", 0, ::getpid()));
}

TEST_F(PerfEventTest, AProcessThatIsGoneIsSaidToBeGone) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const auto event = open_uprobe_event(file_, 0, child);
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().kind, ErrorKind::target_gone);
}

TEST_F(PerfEventTest, BreakpointsAreOneACpuAndAddUp) {
  CallTarget target;
  target.put(0, CallTarget::bang_and_add);
  target.start();
  auto events = open_breakpoint_events(target.address());
  if (!events && events.error().system_errno == EINVAL)
    GTEST_SKIP() << "no hardware breakpoints here";
  ASSERT_TRUE(events) << to_string(events.error());
  EXPECT_EQ(events->size(), static_cast<size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_EQ(target.call(target.address(), 50, 4), 200U);
  uint64_t total = 0;
  for (const UniqueFd& event : *events) {
    uint64_t count = 0;
    ASSERT_EQ(::read(event.get(), &count, sizeof(count)), static_cast<ssize_t>(sizeof(count)));
    total += count;
  }
  EXPECT_EQ(total, 200U);
}

TEST_F(PerfEventTest, AddressesOfTheKernelAreRefused) {
  EXPECT_FALSE(open_breakpoint_events(0xffffffff81000000));
}

TEST_F(PerfEventTest, WithoutTheRightsTheErrorSaysWhich) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(9);
    const auto right = [](const Error& error) {
      return error.kind == ErrorKind::not_permitted &&
             error.hint.find("CAP_PERFMON") != std::string::npos &&
             error.hint.find("perf_event_paranoid") != std::string::npos;
    };
    const auto breakpoint = open_breakpoint_events(0x1000);
    if (breakpoint || !right(breakpoint.error())) ::_exit(8);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace jitscope
