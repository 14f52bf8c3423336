// Two that work on one process never do so at the same time, whatever threads they take.
#include <cerrno>
#include <thread>

#include "surgery/ptrace_thread.h"
#include "surgery/thread_stop.h"
#include "unit/surgery/surgery_target.h"

namespace jitscope {
namespace {

using std::chrono::seconds;

// What another tracer meets that wants all threads, or one, while this one has thread `tid`.
struct Met {
  Result<void> all;
  Result<void> one;
};
Met meet_while_holding(const Process& process, pid_t tid, pid_t wanted) {
  Met met;
  as_tracer(process.pid(), [&] {
    auto mine = ThreadStop::one(process, tid, seconds(5));
    ASSERT_TRUE(mine) << to_string(mine.error());
    std::thread([&] {
      as_tracer(process.pid(), [&] {
        auto all = ThreadStop::all(process, seconds(5));
        if (!all) met.all = fail(std::move(all.error()));
      });
      as_tracer(process.pid(), [&] {
        auto one = ThreadStop::one(process, wanted, seconds(5));
        if (!one) met.one = fail(std::move(one.error()));
      });
    }).join();
  });
  return met;
}

TEST(OneTracer, HoldingAnyThreadKeepsOthersOut) {
  SelfCheckTarget target(4);
  JITSCOPE_REQUIRE_TARGET(target);
  const std::vector<pid_t> tids = list_threads(target.pid());
  ASSERT_GE(tids.size(), 4U);
  for (const auto& [mine, wanted] :
       {std::pair{tids[2], tids[0]}, std::pair{tids[2], tids[3]}, std::pair{tids[0], tids[3]}}) {
    const Met met = meet_while_holding(target.process(), mine, wanted);
    ASSERT_FALSE(met.all);
    EXPECT_EQ(met.all.error().system_errno, EBUSY);
    EXPECT_EQ(met.all.error().kind, ErrorKind::not_permitted);
    ASSERT_FALSE(met.one);
    EXPECT_EQ(met.one.error().system_errno, EBUSY);
  }
  EXPECT_TRUE(runs_freely(target.pid()));
}

TEST(OneTracer, TheSameTracerMayTakeOneThreadAfterTheOther) {
  SelfCheckTarget target(4);
  JITSCOPE_REQUIRE_TARGET(target);
  const std::vector<pid_t> tids = list_threads(target.pid());
  as_tracer(target.pid(), [&] {
    for (const pid_t tid : {tids[2], tids[0], tids[3], tids[0]}) {
      auto stop = ThreadStop::one(target.process(), tid, seconds(5));
      ASSERT_TRUE(stop) << to_string(stop.error());
      EXPECT_EQ(stop->threads().size(), 1U);
    }
  });
  EXPECT_TRUE(runs_freely(target.pid()));
}

}  // namespace
}  // namespace jitscope
