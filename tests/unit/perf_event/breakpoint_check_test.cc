// A machine either raises the breakpoints that it takes, or says that it does not.
#include "perf_event/breakpoint_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "ebpf/bpf_session.h"
#include "unit/process/call_target.h"

namespace jitscope {
namespace {

TEST(BreakpointCheck, ABreakpointThatIsSetCounts) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  CallTarget target;
  target.put(0, CallTarget::bang_and_add);
  target.start();
  auto process = Process::open(target.pid());
  ASSERT_TRUE(process);
  BpfSessionOptions options;
  options.events = false;
  auto session = BpfSession::open(*process, options);
  ASSERT_TRUE(session) << to_string(session.error());
  const Status set = (*session)->add_breakpoint(0, target.address(), {});
  const Status fire = check_breakpoints_fire();
  if (!fire) {
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().kind, ErrorKind::not_possible);
    EXPECT_THAT(to_string(set.error()), testing::HasSubstr("do not fire"));
    return;
  }
  if (!set) GTEST_SKIP() << to_string(set.error());
  EXPECT_EQ(target.call(target.address(), 100), 100U);
  EXPECT_EQ((*session)->counts(0).calls, 100U);
}

}  // namespace
}  // namespace jitscope
