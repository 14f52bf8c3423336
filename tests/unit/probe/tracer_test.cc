// The tracer on a small real target, with a source that says what the test tells it.
#include "probe/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "live_image/relocate.h"
#include "perf_event/breakpoint_check.h"
#include "probe/patience.h"
#include "probe/undo.h"
#include "probe_shared.h"
#include "surgery/ptrace_thread.h"
#include "surgery/thread_stop.h"
#include "tests/unit/probe/live_target.h"

namespace jitscope {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;

class TracerTest : public test::LiveTargetTest {
 protected:
  void SetUp() override {
    LiveTargetTest::SetUp();
    if (IsSkipped()) return;
    source_.bodies = {body(0, "first"), body(1, "second"), body(2, "other")};
  }
  std::unique_ptr<Tracer> start(TraceOptions options) {
    if (options.patterns.empty()) options.patterns = {"T.first", "T.second"};
    auto tracer = Tracer::start(*process_, source_, options);
    EXPECT_TRUE(tracer) << to_string(tracer.error());
    return tracer ? std::move(*tracer) : nullptr;
  }
  static TraceOptions by(std::string_view backend) {
    TraceOptions options;
    options.backend = find_backend(backend);
    return options;
  }
  bool step(Tracer& tracer) {
    const auto alive = tracer.step(milliseconds(1), [&](const TracedCall& call) { take(call); });
    EXPECT_TRUE(alive) << to_string(alive.error());
    return alive.value_or(false);
  }
  TraceReport finish(Tracer& tracer) {
    TraceReport report = tracer.finish([&](const TracedCall& call) { take(call); });
    EXPECT_FALSE(report.left_because) << to_string(*report.left_because);
    return report;
  }
  void take(const TracedCall& call) {
    events_.push_back({call.method, call.body->entry});
    EXPECT_EQ(call.hit.pid, static_cast<unsigned>(process_->pid()));
  }

  test::FakeSource source_;
  std::vector<std::pair<size_t, uint64_t>> events_;  // method, entry
};

TEST_F(TracerTest, CountsAreExactByEveryBackend) {
  for (const std::string_view backend : {"trampoline", "breakpoint", "inplace"}) {
    SCOPED_TRACE(std::string(backend));
    if (backend == "breakpoint" && !check_breakpoints_fire()) continue;
    make(16);
    source_.bodies = {body(0, "first"), body(1, "second"), body(2, "other")};
    events_.clear();
    auto tracer = start(by(backend));
    ASSERT_TRUE(tracer);
    EXPECT_EQ(tracer->started().methods, 2U);
    EXPECT_EQ(tracer->started().bodies, 2U);
    if (tracer->started().sites == 0) GTEST_SKIP() << "this machine cannot place it";
    EXPECT_EQ(tracer->started().sites, 2U);
    EXPECT_EQ(target_->call(entry(0), 100), 100U);
    EXPECT_EQ(target_->call(entry(1), 50, 3), 150U);
    EXPECT_EQ(target_->call(entry(2), 10), 10U);
    EXPECT_TRUE(step(*tracer));
    EXPECT_EQ(target_->call(entry(0), 5), 5U);
    const TraceReport report = finish(*tracer);
    ASSERT_EQ(report.methods.size(), 2U);
    EXPECT_EQ(report.methods[0].method, "T.first");
    EXPECT_EQ(report.methods[0].calls, 105U);
    EXPECT_EQ(report.methods[1].calls, 150U);
    EXPECT_EQ(report.methods[0].bodies_alive, 1U);
    EXPECT_EQ(report.methods[0].bodies_probed, 1U);
    EXPECT_GT(report.methods[0].since_ns, 0U);
    ASSERT_EQ(report.methods[0].sites.size(), 1U);
    EXPECT_EQ(report.methods[0].sites[0].backend, backend);
    EXPECT_EQ(report.methods[0].sites[0].until_ns, 0U);
    EXPECT_EQ(report.entries_restored, backend == "trampoline" ? 2U : 0U);
    EXPECT_FALSE(report.target_gone);
    EXPECT_EQ(std::ranges::count(events_, std::pair(size_t{0}, entry(0))), 105);
    EXPECT_EQ(std::ranges::count(events_, std::pair(size_t{1}, entry(1))), 150);
    EXPECT_EQ(events_.size(), 255U);
    EXPECT_TRUE(untouched());
    EXPECT_EQ(target_->call_each(entry(0), stride, 3, 10), 30U);
  }
}

TEST_F(TracerTest, BodiesThatComeAndGoAreFollowed) {
  auto tracer = start({});
  ASSERT_TRUE(tracer);
  EXPECT_EQ(target_->call(entry(0), 10), 10U);
  source_.bodies.push_back(body(5, "first", 2));
  source_.bodies.erase(source_.bodies.begin());
  EXPECT_TRUE(eventually([&] { return step(*tracer) && is_jump(5); }));
  EXPECT_EQ(target_->call(entry(5), 20), 20U);
  const TraceReport report = finish(*tracer);
  const MethodReport& first = report.methods.at(0);
  EXPECT_EQ(first.calls, 30U);
  EXPECT_EQ(first.bodies_alive, 1U);
  EXPECT_EQ(first.bodies_probed, 1U);
  ASSERT_EQ(first.sites.size(), 2U);
  EXPECT_GT(first.sites[0].until_ns, first.sites[0].since_ns);
  EXPECT_EQ(first.sites[1].until_ns, 0U);
  EXPECT_GE(first.sites[1].since_ns, first.sites[0].since_ns);
  EXPECT_TRUE(untouched());
}

TEST_F(TracerTest, ABodyAtTheAddressOfAFreedOneIsCountedForItself) {
  auto tracer = start({});
  ASSERT_TRUE(tracer);
  EXPECT_EQ(target_->call(entry(0), 10), 10U);
  write(0, CallTarget::frame_and_add);  // the runtime frees it and compiles another method there
  source_.bodies[0] = body(0, "second", 7);
  EXPECT_TRUE(eventually([&] { return step(*tracer) && is_jump(0); }));
  EXPECT_EQ(target_->call(entry(0), 20), 20U);
  const TraceReport report = finish(*tracer);
  EXPECT_EQ(report.methods.at(0).calls, 10U);
  EXPECT_EQ(report.methods.at(1).calls, 20U);
  EXPECT_FALSE(is_jump(0));
  EXPECT_EQ(target_->call(entry(0), 3), 3U);
}

TEST_F(TracerTest, WhatATrampolineCannotDoABreakpointDoes) {
  // A call in the first bytes cannot be moved: call +0 is "call the next instruction", then ret
  // twice.
  write(1, std::array<unsigned char, 9>{0xe8, 0, 0, 0, 0, 0x58, 0x31, 0xc0, 0xc3});
  auto tracer = start({});
  ASSERT_TRUE(tracer);
  if (tracer->started().sites == 1) GTEST_SKIP() << "no hardware breakpoints here";
  EXPECT_EQ(tracer->started().sites, 2U);
  EXPECT_EQ(target_->call(entry(0), 10), 10U);
  EXPECT_EQ(target_->call(entry(1), 20), 0U);
  const TraceReport report = finish(*tracer);
  EXPECT_EQ(report.methods.at(0).sites.at(0).backend, "trampoline");
  EXPECT_EQ(report.methods.at(1).sites.at(0).backend, "breakpoint");
  EXPECT_EQ(report.methods.at(0).calls, 10U);
  EXPECT_EQ(report.methods.at(1).calls, 20U);
}

TEST_F(TracerTest, MovableCodeIsNotPatched) {
  if (!check_breakpoints_fire()) GTEST_SKIP() << "no hardware breakpoints here";
  source_.fixed = false;
  auto tracer = start({});
  ASSERT_TRUE(tracer);
  EXPECT_EQ(tracer->started().backend, "breakpoint");
  EXPECT_THAT(tracer->started().backend_reason, HasSubstr("the test moves it"));
  EXPECT_TRUE(untouched());
  finish(*tracer);
  for (const std::string_view backend : {"trampoline", "inplace"}) {
    TraceOptions options = by(backend);
    options.patterns = {"T.first"};
    const auto refused = Tracer::start(*process_, source_, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::not_possible);
    EXPECT_THAT(to_string(refused.error()), HasSubstr("the test moves it"));
  }
}

TEST_F(TracerTest, MoreBodiesThanBreakpointsIsAnErrorThatSaysFour) {
  for (size_t i = 3; i < 8; ++i) source_.bodies.push_back(body(i, "first", i));
  TraceOptions options = by("breakpoint");
  options.patterns = {"T.first"};
  const auto refused = Tracer::start(*process_, source_, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::not_possible);
  EXPECT_THAT(refused.error().what, HasSubstr("6 bodies"));
  EXPECT_THAT(refused.error().what, HasSubstr("4 breakpoint registers"));
  EXPECT_THAT(refused.error().hint, HasSubstr("trampoline"));
}

TEST_F(TracerTest, CountingSendsNoEvents) {
  TraceOptions options;
  options.events = false;
  auto tracer = start(options);
  ASSERT_TRUE(tracer);
  EXPECT_EQ(target_->call(entry(0), 100), 100U);
  EXPECT_TRUE(step(*tracer));
  EXPECT_EQ(finish(*tracer).methods.at(0).calls, 100U);
  EXPECT_TRUE(events_.empty());
}

TEST_F(TracerTest, TheDestructorPutsBackToo) {
  auto tracer = start({});
  ASSERT_TRUE(tracer);
  EXPECT_TRUE(is_jump(0));
  tracer.reset();
  EXPECT_TRUE(untouched());
}

TEST_F(TracerTest, ATargetThatExitsEndsTheTraceWithItsCounts) {
  auto tracer = start({});
  ASSERT_TRUE(tracer);
  target_->call_and_exit(entry(0), 500);
  EXPECT_TRUE(eventually([&] { return !step(*tracer); }));
  const TraceReport report = finish(*tracer);
  EXPECT_TRUE(report.target_gone);
  EXPECT_EQ(report.methods.at(0).calls, 500U);
  EXPECT_EQ(events_.size(), 500U);
}

TEST_F(TracerTest, ATargetThatIsKilledUnderWayDoesNotHang) {
  auto tracer = start({});
  ASSERT_TRUE(tracer);
  target_->begin_calls(entry(0), 100'000'000, 2);
  EXPECT_TRUE(eventually([&] { return step(*tracer) && !events_.empty(); }));
  target_->stop();
  const TraceReport report = finish(*tracer);
  EXPECT_TRUE(report.target_gone);
  EXPECT_GT(report.methods.at(0).calls, 0U);
}

TEST_F(TracerTest, StartErrorsLeaveTheTargetAlone) {
  TraceOptions options;
  options.patterns = {"no.such.Method"};
  const auto none = Tracer::start(*process_, source_, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  options.patterns = {"T.*"};
  options.max_methods = 2;
  const auto many = Tracer::start(*process_, source_, options);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().kind, ErrorKind::usage);
  options.patterns = {};
  EXPECT_FALSE(Tracer::start(*process_, source_, options));
  source_.broken = Error{ErrorKind::damaged, "torn", {}, {}, 0};
  options.patterns = {"T.first"};
  EXPECT_FALSE(Tracer::start(*process_, source_, options));
  EXPECT_TRUE(untouched());
}

TEST_F(TracerTest, ASourceThatFailsForAWhileIsNotedAndOvercome) {
  auto tracer = start({});
  ASSERT_TRUE(tracer);
  const size_t reads = source_.reads;
  source_.broken = Error{ErrorKind::damaged, "torn for a moment", {}, {}, 0};
  EXPECT_TRUE(eventually([&] { return step(*tracer) && source_.reads > reads + 1; }));
  source_.broken.reset();
  source_.bodies.push_back(body(5, "first", 2));
  EXPECT_TRUE(eventually([&] { return step(*tracer) && is_jump(5); }));
  const TraceReport report = finish(*tracer);
  EXPECT_THAT(report.notes, Contains(HasSubstr("torn for a moment")));
  EXPECT_EQ(std::ranges::count_if(
                report.notes,
                [](const std::string& note) { return note.find("torn for") != std::string::npos; }),
            1);
  EXPECT_TRUE(untouched());
}

TEST_F(TracerTest, ABodyThatCannotBePatchedNowIsReportedWithItsReason) {
  make(4, 1);
  source_.bodies = {body(0, "first"), body(1, "second")};
  target_->keep_on_stack(entry(0) + 1);
  TraceOptions options = by("trampoline");
  auto tracer = start(options);
  ASSERT_TRUE(tracer);
  EXPECT_EQ(tracer->started().sites, 1U);
  target_->keep_on_stack(0);
  EXPECT_TRUE(eventually([&] { return step(*tracer) && is_jump(0); }));
  EXPECT_EQ(target_->call(entry(0), 10), 10U);
  const TraceReport report = finish(*tracer);
  EXPECT_EQ(report.methods.at(0).calls, 10U);
  EXPECT_EQ(report.methods.at(0).bodies_probed, 1U);
  EXPECT_TRUE(untouched());
}

TEST_F(TracerTest, WhatWasCountedIsReportedAlsoWhileAnotherTracerHoldsTheTarget) {
  TraceOptions options;
  options.waiting.leave_asked = [] { return true; };
  auto tracer = start(options);
  ASSERT_TRUE(tracer);
  if (tracer->started().sites_by.size() != 1) GTEST_SKIP() << "this machine cannot place it";
  EXPECT_EQ(target_->call(entry(0), 100), 100U);
  std::atomic<bool> held = false;
  std::atomic<bool> release = false;
  std::thread other([&] {
    as_tracer(process_->pid(), [&] {
      const auto stop = ThreadStop::all(*process_, std::chrono::seconds(5));
      held = stop.has_value();
      while (stop && !release) std::this_thread::sleep_for(milliseconds(1));
    });
  });
  EXPECT_TRUE(eventually([&] { return held.load(); }));
  const TraceReport report = tracer->finish({});
  release = true;
  other.join();
  EXPECT_EQ(report.methods.at(0).calls, 100U);
  ASSERT_TRUE(report.left_because);
  EXPECT_TRUE(held_by_tracer(*report.left_because));
  EXPECT_EQ(report.entries_left, 2U);
  EXPECT_TRUE(is_jump(0));
  EXPECT_EQ(target_->call(entry(0), 10), 10U);
  tracer.reset();
  const auto undone = undo_all(*process_);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->entries_restored, 2U);
  EXPECT_TRUE(untouched());
}

// The second of two counts in the first one's slot, and changes nothing as long as that is there;
// whoever ends first, neither takes away what the other needs.
TEST_F(TracerTest, TwoOnOneMethodCountAllInBothOrdersOfEnding) {
  for (const bool first_ends_first : {true, false}) {
    make(16);
    source_.bodies = {body(0, "first")};
    TraceOptions options;
    options.patterns = {"T.first"};
    auto first = start(options);
    ASSERT_TRUE(first);
    const Bytes jump = bytes_at(entry(0), jump_length);
    auto second = Tracer::start(*process_, source_, options);
    ASSERT_TRUE(second) << to_string(second.error());
    EXPECT_EQ((*second)->started().sites_by,
              (std::vector<std::pair<std::string_view, size_t>>{{"trampoline", 1}}));
    EXPECT_EQ((*second)->started().stopped.count(), 0);
    EXPECT_EQ(bytes_at(entry(0), jump_length), jump);
    EXPECT_EQ(target_->call(entry(0), 100), 100U);
    Tracer& ends = first_ends_first ? *first : **second;
    Tracer& goes_on = first_ends_first ? **second : *first;
    EXPECT_EQ(finish(ends).methods.at(0).calls, 100U);
    if (first_ends_first) {
      EXPECT_TRUE(eventually([&] { return step(goes_on) && is_jump(0); }));
    }
    EXPECT_EQ(target_->call(entry(0), 50), 50U);
    const MethodReport report = finish(goes_on).methods.at(0);
    EXPECT_EQ(report.calls, 150U);
    EXPECT_EQ(report.sites.size(), first_ends_first ? 2U : 1U);
    EXPECT_EQ(report.unseen_ns > 0, first_ends_first);
    EXPECT_TRUE(untouched());
  }
}

TEST_F(TracerTest, AJumpThatLeadsElsewhereIsNoReasonForABreakpoint) {
  write(0, std::array<unsigned char, 5>{0xe9, 0x10, 0, 0, 0});
  TraceOptions options;
  options.patterns = {"T.first"};
  const auto refused = Tracer::start(*process_, source_, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("its entry is a jump"));
}

TEST_F(TracerTest, NewBodiesSayForHowLongTheyMayHaveRunUnseen) {
  auto tracer = start({});
  ASSERT_TRUE(tracer);
  source_.bodies.push_back(body(5, "first", 2));
  EXPECT_TRUE(eventually([&] { return step(*tracer) && is_jump(5); }));
  const TraceReport report = finish(*tracer);
  const MethodReport& first = report.methods.at(0);
  ASSERT_EQ(first.sites.size(), 2U);
  EXPECT_EQ(first.sites[0].unseen_ns, 0U);
  EXPECT_GT(first.sites[1].unseen_ns, 0U);
  EXPECT_EQ(first.unseen_ns, first.sites[1].unseen_ns);
}

TEST_F(TracerTest, APatternThatMatchesLaterIsNotSaidToMatchNothing) {
  TraceOptions options;
  options.patterns = {"T.first", "T.late", "T.never"};
  auto tracer = start(options);
  ASSERT_TRUE(tracer);
  EXPECT_THAT(tracer->started().notes, Contains(HasSubstr("'T.late'")));
  source_.bodies.push_back(body(5, "late"));
  EXPECT_TRUE(eventually([&] { return step(*tracer) && is_jump(5); }));
  const TraceReport report = finish(*tracer);
  EXPECT_THAT(report.notes, testing::Not(Contains(HasSubstr("T.late"))));
  EXPECT_THAT(report.notes, Contains("no method matched 'T.never'"));
}

}  // namespace
}  // namespace jitscope
