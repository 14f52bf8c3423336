// BpfSession on a forked child that calls known functions a known number of times: counts are
// exact, events tell the registers, and what cannot be delivered is counted as lost.
#include "ebpf/bpf_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/clock.h"
#include "probe_shared.h"
#include "process/process.h"
#include "surgery/surgery.h"
#include "tests/unit/process/call_target.h"
#include "tests/unit/process/target_program.h"

// A function in this program's own file: nopl 0(%rax); lea (%rdi,%rsi),%rax; ret.
asm(R"(
  .pushsection .text
  .globl jitscope_test_add
  .type jitscope_test_add, @function
jitscope_test_add:
  .byte 0x0f, 0x1f, 0x40, 0x00
  leaq (%rdi,%rsi), %rax
  ret
  .size jitscope_test_add, . - jitscope_test_add
  .popsection
)");
extern "C" uint64_t jitscope_test_add(uint64_t, uint64_t);

namespace jitscope {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr HitCheck no_check{};

struct FilePlace {
  std::string file;
  uint64_t offset = 0;
};
// Where a function of this program lies in its file.
FilePlace place_of(uint64_t address) {
  auto maps = read_maps(::getpid());
  const Mapping* mapping = maps ? find_mapping(*maps, address) : nullptr;
  if (mapping == nullptr) return {};
  return {mapping->path, address - mapping->start + mapping->offset};
}

class BpfSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < 8; ++i) target_.put(i * 64, CallTarget::bang_and_add);
    // jmp to the first function, as over the entry of a replaced body
    target_.put(jump_at, std::array<unsigned char, 5>{0xe9, 0xfb, 0xfd, 0xff, 0xff});
    target_.put(word_at, std::array<unsigned char, 8>{1, 2, 3, 4, 5, 6, 7, 8});
    target_.start();
    auto process = Process::open(target_.pid());
    ASSERT_TRUE(process) << to_string(process.error());
    process_.emplace(std::move(*process));
  }

  std::unique_ptr<BpfSession> open(BpfSessionOptions options = {}) {
    auto session = BpfSession::open(*process_, options);
    if (!session) {
      ADD_FAILURE() << to_string(session.error());
      return nullptr;
    }
    return std::move(*session);
  }
  // All events that are there.
  static std::vector<jitscope_call> drain(BpfSession& session) {
    std::vector<jitscope_call> calls;
    auto got = session.poll(milliseconds(0),
                            [&](const CallEvent& event) { calls.push_back(*event.call); });
    EXPECT_TRUE(got);
    if (got) {
      EXPECT_EQ(*got, calls.size());
    }
    return calls;
  }
  // A breakpoint, or the test is skipped where the machine has none.
  static bool can_break(BpfSession& session, uint32_t site, uint64_t address,
                        const HitCheck& check = no_check) {
    const Status status = session.add_breakpoint(site, address, check);
    if (!status && status.error().system_errno != EINVAL) {
      EXPECT_TRUE(status) << to_string(status.error());
    }
    return status.has_value();
  }

  static constexpr size_t jump_at = 0x200;
  static constexpr size_t word_at = 0x300;
  CallTarget target_;
  std::optional<Process> process_;
};

#define NEED_ROOT() \
  if (::geteuid() != 0) GTEST_SKIP() << "needs root for eBPF programs"

TEST_F(BpfSessionTest, UprobesCountEveryCallOfTheTargetAndNoOther) {
  NEED_ROOT();
  const auto address = reinterpret_cast<uint64_t>(&jitscope_test_add);
  const FilePlace place = place_of(address);
  auto session = open();
  ASSERT_TRUE(session);
  const Status added = session->add_uprobe(3, place.file, place.offset, no_check);
  ASSERT_TRUE(added) << to_string(added.error());
  EXPECT_EQ(session->counts(3).calls, 0U);
  EXPECT_EQ(target_.call(address, 1000), 1000U);
  EXPECT_EQ(target_.call(address, 250, 4), 1000U);
  EXPECT_EQ(jitscope_test_add(1, 2), 3U);                  // this process runs the same file
  EXPECT_EQ(target_.call_in_fork(address, 10), 7U << 8U);  // and so does a child of the target
  const SiteCounts counts = session->counts(3);
  EXPECT_EQ(counts.calls, 2000U);
  EXPECT_EQ(counts.lost, 0U);
  EXPECT_EQ(counts.stale, 0U);
  EXPECT_EQ(counts.redispatched, 0U);
  EXPECT_EQ(session->counts(2).calls, 0U);
  EXPECT_EQ(drain(*session).size(), 2000U);
}

TEST_F(BpfSessionTest, EventsTellRegistersThreadAndTime) {
  NEED_ROOT();
  const auto address = reinterpret_cast<uint64_t>(&jitscope_test_add);
  const FilePlace place = place_of(address);
  auto session = open();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->add_uprobe(5, place.file, place.offset, no_check));
  const uint64_t before = monotonic_ns();
  EXPECT_EQ(target_.call_with(address, {101, 102, 103, 104, 105, 106, 107, 108}), 203U);
  const uint64_t after = monotonic_ns();
  const auto calls = drain(*session);
  ASSERT_EQ(calls.size(), 1U);
  const jitscope_call& call = calls.front();
  EXPECT_EQ(call.site, 5U);
  EXPECT_EQ(call.pid, static_cast<unsigned>(target_.pid()));
  EXPECT_EQ(call.tid, static_cast<unsigned>(target_.pid()));
  EXPECT_GE(call.time_ns, before);
  EXPECT_LE(call.time_ns, after);
  EXPECT_THAT(call.registers, testing::ElementsAre(102, 103, 104, 105, 106, 101));
  ASSERT_EQ(call.words_valid, 1U);
  EXPECT_EQ(call.words[1], 107U);  // words[0] is the return address
  EXPECT_EQ(call.words[2], 108U);
  EXPECT_EQ(call.stack_bytes, 0U);

  EXPECT_EQ(target_.call(address, 3, 2), 6U);
  const auto threads = drain(*session);
  ASSERT_EQ(threads.size(), 6U);
  for (const jitscope_call& each : threads) {
    EXPECT_EQ(each.pid, static_cast<unsigned>(target_.pid()));
    EXPECT_NE(each.tid, each.pid);
  }
}

TEST_F(BpfSessionTest, StacksBeginAtTheStackPointer) {
  NEED_ROOT();
  const auto address = reinterpret_cast<uint64_t>(&jitscope_test_add);
  const FilePlace place = place_of(address);
  BpfSessionOptions options;
  options.stacks = true;
  auto session = open(options);
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->add_uprobe(0, place.file, place.offset, no_check));
  EXPECT_EQ(target_.call(address, 20, 3), 60U);
  EXPECT_EQ(target_.call(address, 20), 20U);
  size_t seen = 0;
  auto got = session->poll(milliseconds(0), [&](const CallEvent& event) {
    ++seen;
    EXPECT_EQ(event.stack.size(), event.call->stack_bytes);
    EXPECT_LE(event.stack.size(), size_t{JITSCOPE_STACK_BYTES});
    // To the end of the page that sp is in, and whole pages after it.
    EXPECT_EQ((event.call->sp + event.stack.size()) % 4096, 0U);
    ASSERT_GE(event.stack.size(), 8U);
    const size_t both = std::min(event.stack.size(), sizeof(event.call->words));
    EXPECT_EQ(std::memcmp(event.stack.data(), event.call->words, both), 0);
  });
  ASSERT_TRUE(got);
  EXPECT_EQ(seen, 80U);
  EXPECT_EQ(*got, 80U);
}

TEST_F(BpfSessionTest, BreakpointsCountEveryThreadAlsoLaterOnes) {
  NEED_ROOT();
  auto session = open();
  ASSERT_TRUE(session);
  if (!can_break(*session, 0, target_.address(0))) GTEST_SKIP() << "no hardware breakpoints here";
  ASSERT_TRUE(can_break(*session, 1, target_.address(64)));
  EXPECT_EQ(target_.call(target_.address(0), 100), 100U);
  EXPECT_EQ(target_.call(target_.address(0), 100, 5), 500U);  // threads that start after the attach
  EXPECT_EQ(target_.call(target_.address(64), 70, 1), 70U);
  EXPECT_EQ(target_.call(target_.address(128), 10), 10U);
  EXPECT_EQ(target_.call_in_fork(target_.address(0), 10), 7U << 8U);
  EXPECT_EQ(session->counts(0).calls, 600U);
  EXPECT_EQ(session->counts(1).calls, 70U);
  const auto calls = drain(*session);
  EXPECT_EQ(std::ranges::count(calls, 0U, &jitscope_call::site), 600);
  EXPECT_EQ(std::ranges::count(calls, 1U, &jitscope_call::site), 70);
}

TEST_F(BpfSessionTest, TheFifthBreakpointSaysThatThereAreFour) {
  NEED_ROOT();
  auto session = open();
  ASSERT_TRUE(session);
  if (!can_break(*session, 0, target_.address(0))) GTEST_SKIP() << "no hardware breakpoints here";
  for (uint32_t site = 1; site < 4; ++site) {
    ASSERT_TRUE(can_break(*session, site, target_.address(site * 64)));
  }
  const Status fifth = session->add_breakpoint(4, target_.address(4 * 64), no_check);
  ASSERT_FALSE(fifth);
  EXPECT_EQ(fifth.error().kind, ErrorKind::not_possible);
  EXPECT_THAT(to_string(fifth.error()), HasSubstr("4 breakpoint registers"));
  EXPECT_THAT(to_string(fifth.error()), HasSubstr("--backend trampoline"));
  // The others still count, and a register that is given back can be used again.
  EXPECT_EQ(target_.call_each(target_.address(0), 64, 5, 10), 50U);
  session->remove(2);
  EXPECT_TRUE(can_break(*session, 4, target_.address(4 * 64)));
  EXPECT_EQ(target_.call_each(target_.address(0), 64, 5, 10), 50U);
  EXPECT_EQ(session->counts(0).calls, 20U);
  EXPECT_EQ(session->counts(2).calls, 10U);
  EXPECT_EQ(session->counts(4).calls, 10U);
}

TEST_F(BpfSessionTest, AHitOnAnotherBodyIsStaleAndNotACall) {
  NEED_ROOT();
  auto session = open();
  ASSERT_TRUE(session);
  // Of the 8 bytes at word_at the second and third are compared.
  HitCheck check{target_.address(word_at), 0x030200, 0xffff00, false};
  if (!can_break(*session, 0, target_.address(0), check))
    GTEST_SKIP() << "no hardware breakpoints here";
  HitCheck unreadable{0x10, 0, 0, false};
  ASSERT_TRUE(can_break(*session, 1, target_.address(64), unreadable));
  EXPECT_EQ(target_.call(target_.address(0), 5), 5U);
  const std::array other = {std::byte{9}};
  ASSERT_TRUE(write_memory(*process_, target_.address(word_at), other));  // outside of the mask
  EXPECT_EQ(target_.call(target_.address(0), 5), 5U);
  ASSERT_TRUE(write_memory(*process_, target_.address(word_at) + 1, other));
  EXPECT_EQ(target_.call(target_.address(0), 7), 7U);
  EXPECT_EQ(target_.call(target_.address(64), 3), 3U);
  EXPECT_EQ(session->counts(0).calls, 10U);
  EXPECT_EQ(session->counts(0).stale, 7U);
  EXPECT_EQ(session->counts(1).calls, 0U);
  EXPECT_EQ(session->counts(1).stale, 3U);
  EXPECT_EQ(drain(*session).size(), 10U);
}

TEST_F(BpfSessionTest, TheSameBodyInAnotherStateSendsTheCallOn) {
  NEED_ROOT();
  auto session = open();
  ASSERT_TRUE(session);
  // Four bytes that tell the body, and one for its state.
  HitCheck check{target_.address(word_at), 0x0700000004030201, 0xff000000ffffffff, false};
  if (!can_break(*session, 0, target_.address(0), check))
    GTEST_SKIP() << "no hardware breakpoints here";
  EXPECT_EQ(target_.call(target_.address(0), 2), 2U);
  const std::array other = {std::byte{9}};
  ASSERT_TRUE(write_memory(*process_, target_.address(word_at) + 5, other));  // outside of the mask
  EXPECT_EQ(target_.call(target_.address(0), 3), 3U);
  EXPECT_EQ(session->counts(0).calls, 0U);
  // The state is the eighth byte, which is 8.
  EXPECT_EQ(session->counts(0).redispatched, 5U);
  EXPECT_EQ(session->counts(0).stale, 0U);
  const std::array entered = {std::byte{7}};
  ASSERT_TRUE(write_memory(*process_, target_.address(word_at) + 7, entered));
  EXPECT_EQ(target_.call(target_.address(0), 4), 4U);
  EXPECT_EQ(session->counts(0).calls, 4U);
  // Another body in the right state.
  ASSERT_TRUE(write_memory(*process_, target_.address(word_at), other));
  EXPECT_EQ(target_.call(target_.address(0), 6), 6U);
  EXPECT_EQ(session->counts(0).calls, 4U);
  EXPECT_EQ(session->counts(0).redispatched, 5U);
  EXPECT_EQ(session->counts(0).stale, 6U);
}

TEST_F(BpfSessionTest, AnEntryThatBecameAJumpIsCountedWhereTheCallArrives) {
  NEED_ROOT();
  auto session = open();
  ASSERT_TRUE(session);
  HitCheck skip;
  skip.skip_if_jump = true;
  if (!can_break(*session, 0, target_.address(jump_at), skip))
    GTEST_SKIP() << "no hardware breakpoints";
  ASSERT_TRUE(can_break(*session, 1, target_.address(0), skip));
  EXPECT_EQ(target_.call(target_.address(jump_at), 40), 40U);
  EXPECT_EQ(session->counts(0).calls, 0U);
  EXPECT_EQ(session->counts(0).redispatched, 40U);
  EXPECT_EQ(session->counts(1).calls, 40U);
  EXPECT_EQ(session->counts(1).redispatched, 0U);
  // Without the check the jump is as good as any instruction.
  session->remove(0);
  ASSERT_TRUE(can_break(*session, 2, target_.address(jump_at)));
  EXPECT_EQ(target_.call(target_.address(jump_at), 5), 5U);
  EXPECT_EQ(session->counts(2).calls, 5U);
}

TEST_F(BpfSessionTest, WhatFindsNoRoomIsCountedAsLost) {
  NEED_ROOT();
  const auto address = reinterpret_cast<uint64_t>(&jitscope_test_add);
  const FilePlace place = place_of(address);
  BpfSessionOptions options;
  options.ring_bytes = 4096;
  auto session = open(options);
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->add_uprobe(0, place.file, place.offset, no_check));
  EXPECT_EQ(target_.call(address, 500, 4), 2000U);
  const SiteCounts counts = session->counts(0);
  EXPECT_EQ(counts.calls, 2000U);
  const size_t delivered = drain(*session).size();
  EXPECT_GT(delivered, 0U);
  EXPECT_LT(delivered, 30U);  // 4096 bytes hold no more
  EXPECT_EQ(counts.lost + delivered, counts.calls);
  // There is room again.
  EXPECT_EQ(target_.call(address, 5), 5U);
  EXPECT_EQ(drain(*session).size(), 5U);
  EXPECT_EQ(session->counts(0).lost, counts.lost);
}

TEST_F(BpfSessionTest, PollHandsEachEventOnceAndCountsIt) {
  NEED_ROOT();
  const auto address = reinterpret_cast<uint64_t>(&jitscope_test_add);
  const FilePlace place = place_of(address);
  auto session = open();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->add_uprobe(0, place.file, place.offset, no_check));
  constexpr uint64_t calls = 40'000;  // more than wakes the reader
  target_.begin_calls(address, calls / 4, 4);
  size_t handed = 0;
  size_t counted = 0;
  EXPECT_TRUE(eventually([&] {
    auto got = session->poll(milliseconds(100), [&](const CallEvent&) { ++handed; });
    EXPECT_TRUE(got);
    counted += got.value_or(0);
    return handed == calls;
  }));
  EXPECT_EQ(target_.end_calls(), calls);
  EXPECT_EQ(counted, calls);
  EXPECT_EQ(session->counts(0).calls, calls);
  EXPECT_EQ(session->counts(0).lost, 0U);
}

TEST_F(BpfSessionTest, CountingAloneSendsNothing) {
  NEED_ROOT();
  const auto address = reinterpret_cast<uint64_t>(&jitscope_test_add);
  const FilePlace place = place_of(address);
  BpfSessionOptions options;
  options.events = false;
  auto session = open(options);
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->add_uprobe(0, place.file, place.offset, no_check));
  EXPECT_EQ(target_.call(address, 123), 123U);
  EXPECT_EQ(session->counts(0).calls, 123U);
  EXPECT_EQ(session->counts(0).lost, 0U);
  EXPECT_TRUE(drain(*session).empty());
}

TEST_F(BpfSessionTest, ARemovedSiteKeepsItsCounts) {
  NEED_ROOT();
  const auto address = reinterpret_cast<uint64_t>(&jitscope_test_add);
  const FilePlace place = place_of(address);
  auto session = open();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->add_uprobe(0, place.file, place.offset, no_check));
  EXPECT_EQ(target_.call(address, 10), 10U);
  session->remove(0);
  session->remove(0);
  session->remove(77);
  EXPECT_EQ(target_.call(address, 10), 10U);
  EXPECT_EQ(session->counts(0).calls, 10U);
  EXPECT_EQ(session->counts(16'000'000).calls, 0U);
}

TEST_F(BpfSessionTest, MoreSitesThanRoomIsAnError) {
  NEED_ROOT();
  BpfSessionOptions options;
  options.max_sites = 2;
  auto session = open(options);
  ASSERT_TRUE(session);
  const FilePlace place = place_of(reinterpret_cast<uint64_t>(&jitscope_test_add));
  EXPECT_TRUE(session->add_uprobe(1, place.file, place.offset, no_check));
  const Status status = session->add_uprobe(2, place.file, place.offset, no_check);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::not_possible);
  EXPECT_THAT(status.error().what, HasSubstr("2 sites"));
}

TEST_F(BpfSessionTest, ATargetThatExitsLeavesItsCounts) {
  NEED_ROOT();
  const auto address = reinterpret_cast<uint64_t>(&jitscope_test_add);
  const FilePlace place = place_of(address);
  auto session = open();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->add_uprobe(0, place.file, place.offset, no_check));
  target_.call_and_exit(address, 300);
  EXPECT_TRUE(WIFEXITED(target_.wait()));
  EXPECT_EQ(session->counts(0).calls, 300U);
  EXPECT_EQ(drain(*session).size(), 300U);
  EXPECT_FALSE(session->add_uprobe(1, place.file, place.offset, no_check));
}

TEST_F(BpfSessionTest, WithoutTheRightsTheErrorSaysWhich) {
  NEED_ROOT();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(9);
    auto self = Process::open(::getpid());
    if (!self) ::_exit(8);
    auto session = BpfSession::open(*self, {});
    if (session) ::_exit(7);
    const bool named = session.error().hint.find("CAP_BPF") != std::string::npos;
    ::_exit(session.error().kind == ErrorKind::not_permitted && named ? 0 : 6);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace jitscope
