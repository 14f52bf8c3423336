// Trampolines in a small real target: placed, counted, taken away to the byte; and what goes wrong
// in between.
#include "probe/trampolines.h"
#include "ebpf/uprobe_multi.h"
#include "probe/register_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <numeric>

#include "tests/unit/probe/live_target.h"

namespace jitscope {
namespace {

using testing::HasSubstr;

class TrampolinesTest : public test::LiveTargetTest {
 protected:
  // Near the target's code.
  std::unique_ptr<Trampolines> prepared() {
    auto trampolines = std::make_unique<Trampolines>(*process_);
    const Status status =
        trampolines->prepare(target_->address(), target_->address(target_->size()));
    EXPECT_TRUE(status) << to_string(status.error());
    return trampolines;
  }
  std::vector<SiteRequest> requests(size_t first, size_t count) const {
    std::vector<SiteRequest> result;
    for (size_t i = first; i < first + count; ++i) {
      result.push_back({static_cast<uint32_t>(i), body(i, "f" + std::to_string(i)), 0});
    }
    return result;
  }
  static Trampolines::SlotsReady register_on(BpfSession& session) {
    return register_slots(session);
  }
  static std::vector<SiteOutcome> placed(Result<std::vector<SiteOutcome>> outcomes) {
    EXPECT_TRUE(outcomes) << to_string(outcomes.error());
    return outcomes ? std::move(*outcomes) : std::vector<SiteOutcome>{};
  }
};

TEST_F(TrampolinesTest, CountsEveryCallAndLeavesNoTrace) {
  auto trampolines = prepared();
  auto counting = session();
  ASSERT_TRUE(counting);
  const auto outcomes = placed(trampolines->place(requests(0, 4), register_on(*counting)));
  ASSERT_EQ(outcomes.size(), 4U);
  for (const SiteOutcome& each : outcomes) EXPECT_TRUE(each.placed) << each.reason;
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(is_jump(i));
  EXPECT_FALSE(is_jump(4));
  EXPECT_EQ(target_->call(entry(0), 1000), 1000U);
  EXPECT_EQ(target_->call(entry(1), 250, 4), 1000U);
  EXPECT_EQ(target_->call(entry(4), 10), 10U);
  EXPECT_EQ(counting->counts(0).calls, 1000U);
  EXPECT_EQ(counting->counts(1).calls, 1000U);
  EXPECT_EQ(counting->counts(2).calls, 0U);

  const std::array<uint32_t, 1> one = {0};
  EXPECT_EQ(trampolines->withdraw(one).value_or(99), 1U);
  EXPECT_FALSE(is_jump(0));
  EXPECT_TRUE(is_jump(1));
  EXPECT_EQ(trampolines->withdraw().value_or(99), 3U);
  EXPECT_TRUE(untouched());
  EXPECT_EQ(trampolines->withdraw().value_or(99), 0U);
  EXPECT_EQ(target_->call_each(entry(0), stride, 4, 10), 40U);
  EXPECT_EQ(counting->counts(0).calls, 1000U);
  EXPECT_GT(trampolines->stopped().count(), 0);
  EXPECT_GE(trampolines->stopped(), trampolines->longest_stop());

  struct stat info{};
  EXPECT_EQ(::stat(trampolines->file_here().c_str(), &info), 0);
  trampolines->unlink_file();
  EXPECT_NE(::stat(trampolines->file_here().c_str(), &info), 0);
}

TEST_F(TrampolinesTest, EntriesOfSeveralInstructions) {
  make(8, 4);
  auto trampolines = prepared();
  auto counting = session();
  ASSERT_TRUE(counting);
  for (const SiteOutcome& each :
       placed(trampolines->place(requests(0, 8), register_on(*counting)))) {
    EXPECT_TRUE(each.placed) << each.reason;
  }
  EXPECT_EQ(target_->call_each(entry(0), stride, 8, 100), 800U);
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(counting->counts(i).calls, 100U) << i;
  EXPECT_EQ(trampolines->withdraw().value_or(99), 8U);
  EXPECT_TRUE(untouched());
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, AThousandSitesInOneBatch) {
  make(1000, 500);
  auto trampolines = prepared();
  auto counting = session();
  ASSERT_TRUE(counting);
  // Without links of many uprobes the kernel takes its time to let go of each: every hundredth
  // then.
  const uint32_t every = kernel_has_uprobe_multi() ? 1 : 100;
  const auto some = [&](const std::string& file, std::span<const ReadySlot> slots) -> Status {
    std::vector<UprobeSite> sites;
    for (const ReadySlot& slot : slots) {
      if (slot.id % every == 0) sites.push_back({slot.id, slot.offset, {}});
    }
    return counting->add_uprobes(file, sites);
  };
  size_t done = 0;
  for (const SiteOutcome& each : placed(trampolines->place(requests(0, 1000), some))) {
    done += each.placed ? 1 : 0;
  }
  EXPECT_EQ(done, 1000U);
  EXPECT_EQ(target_->call_each(entry(0), stride, 1000, 3), 3000U);
  for (uint32_t i = 0; i < 1000; i += every) EXPECT_EQ(counting->counts(i).calls, 3U) << i;
  EXPECT_EQ(trampolines->withdraw().value_or(0), 1000U);
  EXPECT_TRUE(untouched());
  EXPECT_EQ(target_->call_each(entry(0), stride, 1000, 1), 1000U);
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, ManyBatchesOneAfterTheOther) {
  auto trampolines = prepared();
  auto counting = session();
  ASSERT_TRUE(counting);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(placed(trampolines->place(requests(i, 1), register_on(*counting))).at(0).placed);
    EXPECT_EQ(target_->call_each(entry(0), stride, 16, 1), 16U);
  }
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(counting->counts(i).calls, 8U - i);
  EXPECT_EQ(trampolines->withdraw().value_or(0), 8U);
  EXPECT_TRUE(untouched());
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, OfMoreSitesThanTheImageHoldsThoseThatFitArePlaced) {
  make(8300);
  auto trampolines = prepared();
  const auto outcomes = placed(trampolines->place(requests(0, 8300), {}));
  ASSERT_EQ(outcomes.size(), 8300U);
  for (size_t i = 0; i < 8192; ++i) ASSERT_TRUE(outcomes[i].placed) << i << outcomes[i].reason;
  for (size_t i = 8192; i < 8300; ++i) {
    EXPECT_FALSE(outcomes[i].placed);
    EXPECT_FALSE(outcomes[i].retry);
    EXPECT_THAT(outcomes[i].reason, HasSubstr("full"));
  }
  EXPECT_EQ(trampolines->withdraw().value_or(0), 8192U);
  EXPECT_TRUE(untouched());
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, AllBodiesOfAMethodThroughOneCommonPoint) {
  auto trampolines = prepared();
  const std::array<Trampolines::CommonPoint, 2> points = {{{"T.f", "T.f(int)"}, {"T.g", ""}}};
  auto offsets = trampolines->add_common_points(points);
  ASSERT_TRUE(offsets) << to_string(offsets.error());
  auto counting = session();
  ASSERT_TRUE(counting);
  ASSERT_TRUE(counting->add_uprobe(0, trampolines->file_here(), offsets->at(0), {}));
  ASSERT_TRUE(counting->add_uprobe(1, trampolines->file_here(), offsets->at(1), {}));
  auto wanted = requests(0, 3);
  wanted[0].common = wanted[1].common = trampolines->base() + offsets->at(0);
  wanted[2].common = trampolines->base() + offsets->at(1);
  for (const SiteOutcome& each : placed(trampolines->place(wanted, {}))) EXPECT_TRUE(each.placed);
  EXPECT_EQ(target_->call(entry(0), 30), 30U);
  EXPECT_EQ(target_->call(entry(1), 10, 2), 20U);
  EXPECT_EQ(target_->call(entry(2), 7), 7U);
  EXPECT_EQ(counting->counts(0).calls, 50U);
  EXPECT_EQ(counting->counts(1).calls, 7U);
  EXPECT_EQ(trampolines->withdraw().value_or(0), 3U);
  EXPECT_TRUE(untouched());
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, BodiesAtTheSameBytesDoNotSpoilTheBatch) {
  auto trampolines = prepared();
  auto wanted = requests(0, 3);
  wanted.push_back({50, body(1, "twin"), 0});
  CodeBody inside = body(2, "inside");
  inside.address = inside.entry = entry(2) + 2;
  inside.size = 60;
  wanted.push_back({51, inside, 0});
  const auto outcomes = placed(trampolines->place(wanted, {}));
  ASSERT_EQ(outcomes.size(), 5U);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(outcomes[i].placed) << outcomes[i].reason;
  for (size_t i = 3; i < 5; ++i) {
    EXPECT_FALSE(outcomes[i].placed);
    EXPECT_FALSE(outcomes[i].reason.empty());
  }
  EXPECT_EQ(trampolines->withdraw().value_or(0), 3U);
  EXPECT_TRUE(untouched());
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, AnotherBodyAtTheSameEntryIsTakenAwayInItsTurn) {
  auto trampolines = prepared();
  auto counting = session();
  ASSERT_TRUE(counting);
  EXPECT_TRUE(placed(trampolines->place(requests(0, 2), register_on(*counting))).at(0).placed);
  // The runtime frees the body and puts another one there.
  write(0, CallTarget::frame_and_add);
  auto again = requests(0, 1);
  again[0].id = 9;
  EXPECT_TRUE(placed(trampolines->place(again, register_on(*counting))).at(0).placed);
  EXPECT_EQ(target_->call(entry(0), 10), 10U);
  EXPECT_EQ(counting->counts(0).calls, 0U);
  EXPECT_EQ(counting->counts(9).calls, 10U);
  const auto restored = trampolines->withdraw();
  ASSERT_TRUE(restored) << to_string(restored.error());
  EXPECT_EQ(*restored, 2U);
  const Bytes now = bytes_at(entry(0), CallTarget::frame_and_add.size());
  EXPECT_TRUE(std::ranges::equal(now, std::as_bytes(std::span(CallTarget::frame_and_add))));
  EXPECT_EQ(target_->call(entry(0), 10), 10U);
  EXPECT_EQ(counting->counts(9).calls, 10U);
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, WhatTheRuntimeWroteIsNotTakenBack) {
  auto trampolines = prepared();
  EXPECT_TRUE(placed(trampolines->place(requests(0, 2), {})).at(0).placed);
  // Not entrant: the runtime's own jump, here to the second function's end.
  write(0, std::array<unsigned char, 5>{0xe9, 0x00, 0x01, 0x00, 0x00});
  EXPECT_EQ(trampolines->withdraw().value_or(99), 1U);
  EXPECT_TRUE(is_jump(0));
  EXPECT_FALSE(is_jump(1));
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, ABodyThatIsNotTheOneMeantIsRefusedInTheStop) {
  auto trampolines = prepared();
  auto wanted = requests(0, 3);
  wanted[1].body.identity = {
      {entry(8), {std::byte{0x12}, std::byte{0x34}}}};  // not what lies there
  // The bytes of the third change when its probe is registered, after they were looked at.
  const auto change = [&](const std::string&, std::span<const ReadySlot>) -> Status {
    write(2, CallTarget::frame_and_add);
    return {};
  };
  const auto outcomes = placed(trampolines->place(wanted, change));
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_TRUE(outcomes[0].placed);
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_FALSE(outcomes[i].placed);
    EXPECT_TRUE(outcomes[i].retry);
    EXPECT_THAT(outcomes[i].reason, HasSubstr("changed the body"));
    EXPECT_FALSE(is_jump(i));
  }
  EXPECT_EQ(trampolines->withdraw().value_or(0), 1U);
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, AStackThatPointsIntoTheFirstInstructionsIsWaitedFor) {
  make(4, 4);
  auto trampolines = prepared();
  // Not of the first: what the stack of the target, a fork of this process, has from earlier tests
  // may point to the beginning of a page.
  target_->keep_on_stack(entry(2) + 1);
  auto outcomes = placed(trampolines->place(requests(2, 2), {}));
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_FALSE(outcomes[0].placed);
  EXPECT_TRUE(outcomes[0].retry);
  EXPECT_THAT(outcomes[0].reason, HasSubstr("thread"));
  EXPECT_FALSE(is_jump(2));
  EXPECT_TRUE(outcomes[1].placed);
  target_->keep_on_stack(0);
  outcomes = placed(trampolines->place(requests(2, 1), {}));
  EXPECT_TRUE(outcomes.at(0).placed) << outcomes.at(0).reason;
  EXPECT_EQ(trampolines->withdraw().value_or(0), 2U);
  EXPECT_TRUE(untouched());
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, SitesWithoutTheirProbesAreNotPatched) {
  auto trampolines = prepared();
  const auto outcomes = trampolines->place(
      requests(0, 2), [](const std::string&, std::span<const ReadySlot> slots) -> Status {
        return slots.size() == 2 ? fail(ErrorKind::not_possible, "no probe today") : Status{};
      });
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().what, "no probe today");
  EXPECT_TRUE(untouched());
  EXPECT_EQ(trampolines->withdraw().value_or(99), 0U);
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, BodiesThatCannotBeReadOrPatchedSayWhy) {
  auto trampolines = prepared();
  auto wanted = requests(0, 4);
  wanted[0].body.address = wanted[0].body.entry = 0x10;
  wanted[1].body.entry = wanted[1].body.address - 1;  // not in the body
  wanted[2].body.size = 3;
  wanted[3].body.entry = wanted[3].body.address + wanted[3].body.size;
  for (const SiteOutcome& each : placed(trampolines->place(wanted, {}))) {
    EXPECT_FALSE(each.placed);
    EXPECT_THAT(each.reason, HasSubstr("cannot be read"));
  }
  EXPECT_TRUE(placed(trampolines->place({}, {})).empty());
  EXPECT_TRUE(untouched());
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, ATargetThatDiesInTheMiddleIsSaidToBeGone) {
  auto trampolines = prepared();
  const auto outcomes = trampolines->place(requests(0, 2), [&](const std::string&, auto) -> Status {
    target_->stop();
    return {};
  });
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().kind, ErrorKind::target_gone);
  EXPECT_EQ(trampolines->withdraw().value_or(99), 0U);  // nothing was placed
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, WithdrawingFromADeadTargetIsAnErrorAndNoHang) {
  auto trampolines = prepared();
  EXPECT_TRUE(placed(trampolines->place(requests(0, 1), {})).at(0).placed);
  target_->stop();
  const auto restored = trampolines->withdraw();
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().kind, ErrorKind::target_gone);
  EXPECT_FALSE(trampolines->place(requests(1, 1), {}).has_value() &&
               trampolines->place(requests(1, 1), {})->at(0).placed);
  Trampolines late(*process_);
  EXPECT_FALSE(late.prepare(target_->address(), target_->address(64)));
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, RunningThreadsNeitherStumbleNorGoUncounted) {
  make(4, 2);
  auto trampolines = prepared();
  auto counting = session();
  ASSERT_TRUE(counting);
  EXPECT_TRUE(placed(trampolines->place(requests(3, 1), register_on(*counting))).at(0).placed);
  constexpr uint64_t calls = 60'000;
  target_->begin_calls(entry(3), calls / 3, 3);
  uint32_t id = 100;
  for (int round = 0; round < 8; ++round) {
    auto wanted = requests(0, 2);
    for (SiteRequest& each : wanted) each.id = id++;
    for (const SiteOutcome& each : placed(trampolines->place(wanted, register_on(*counting)))) {
      EXPECT_TRUE(each.placed) << each.reason;
    }
    const std::array<uint32_t, 2> both = {id - 2, id - 1};
    EXPECT_EQ(trampolines->withdraw(both).value_or(0), 2U);
  }
  EXPECT_EQ(target_->end_calls(), calls);
  EXPECT_EQ(counting->counts(3).calls, calls);
  EXPECT_EQ(trampolines->withdraw().value_or(0), 1U);
  EXPECT_TRUE(untouched());
  trampolines->unlink_file();
}

TEST_F(TrampolinesTest, PlacedUnderRunningCallsOfTheSameFunction) {
  make(2, 2);
  auto trampolines = prepared();
  auto counting = session();
  ASSERT_TRUE(counting);
  constexpr uint64_t calls = 300'000;
  target_->begin_calls(entry(0), calls / 3, 3);
  for (uint32_t round = 0; round < 6; ++round) {
    auto wanted = requests(0, 1);
    wanted[0].id = round;
    const auto outcomes = placed(trampolines->place(wanted, register_on(*counting)));
    EXPECT_TRUE(outcomes.at(0).placed || outcomes.at(0).retry);
    EXPECT_TRUE(trampolines->withdraw());
  }
  EXPECT_EQ(target_->end_calls(), calls);  // every call gave its right result
  EXPECT_TRUE(untouched());
  trampolines->unlink_file();
}

}  // namespace
}  // namespace jitscope
