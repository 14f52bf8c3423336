#include "unwind/frame_flow_x86_64.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>

namespace jitscope {
namespace {

FrameFlow followed(std::span<const uint8_t> code) {
  FrameFlow flow(std::as_bytes(code), {});
  flow.follow(0, FrameState::at_entry());
  return flow;
}

constexpr auto kUnknown = FrameState::kUnknown;

TEST(FrameFlow, ALoopThatPushesLeavesTheFrameToRbp) {
  // As HotSpot's call stub passes on parameters: how many is known at run time.
  constexpr std::array<uint8_t, 23> code = {
      0x55,                    //  0 push rbp
      0x48, 0x89, 0xe5,        //  1 mov rbp, rsp
      0x48, 0x83, 0xec, 0x20,  //  4 sub rsp, 0x20
      0xff, 0x36,              //  8 push [rsi]     <-
      0x48, 0xff, 0xc9,        // 10 dec rcx
      0x75, 0xf9,              // 13 jnz 8
      0xff, 0xd2,              // 15 call rdx
      0x48, 0x89, 0xec,        // 17 mov rsp, rbp
      0x5d,                    // 20 pop rbp
      0xc3,                    // 21 ret
      0xcc,
  };
  const FrameFlow flow = followed(code);
  ASSERT_NE(flow.before(4), nullptr);
  EXPECT_EQ(flow.before(4)->base(), kRsp);
  for (const uint64_t offset : {8U, 10U, 13U, 15U, 16U, 17U}) {
    ASSERT_NE(flow.before(offset), nullptr) << offset;
    EXPECT_EQ(flow.before(offset)->points[kRsp], kUnknown) << offset;
    EXPECT_EQ(flow.before(offset)->base(), kRbp) << offset;
    EXPECT_EQ(flow.before(offset)->points[kRbp], 16) << offset;
  }
  // Behind it rsp is known again.
  EXPECT_EQ(flow.before(20)->points[kRsp], 16);
  EXPECT_EQ(flow.before(21)->points[kRsp], 8);
  EXPECT_EQ(flow.returns(), 1U);
  EXPECT_EQ(flow.bad_returns(), 0U);
}

TEST(FrameFlow, ALoopThatKeepsTheStackChangesNothing) {
  constexpr std::array<uint8_t, 13> code = {
      0x55,              //  0 push rbp
      0x48, 0x89, 0xe5,  //  1 mov rbp, rsp
      0x50,              //  4 push rax        <-
      0x58,              //  5 pop rax
      0x48, 0xff, 0xc9,  //  6 dec rcx
      0x75, 0xf9,        //  9 jnz 4
      0x5d,              // 11 pop rbp
      0xc3,              // 12 ret
  };
  const FrameFlow flow = followed(code);
  EXPECT_EQ(flow.before(5)->points[kRsp], 24);
  EXPECT_EQ(flow.before(9)->points[kRsp], 16);
  EXPECT_EQ(flow.bad_returns(), 0U);
}

TEST(FrameFlow, WithoutRbpTheFirstWayCounts) {
  // Nothing else tells the frame: what came first is not thrown away.
  constexpr std::array<uint8_t, 6> code = {
      0x50,              // 0 push rax          <-
      0x48, 0xff, 0xc9,  // 1 dec rcx
      0x75, 0xfa,        // 4 jnz 0
  };
  const FrameFlow flow = followed(code);
  EXPECT_EQ(flow.before(0)->points[kRsp], 8);
  EXPECT_EQ(flow.before(4)->points[kRsp], 16);
}

TEST(FrameFlow, WaysOfDifferentDepthMeet) {
  constexpr std::array<uint8_t, 13> code = {
      0x55,              //  0 push rbp
      0x48, 0x89, 0xe5,  //  1 mov rbp, rsp
      0x74, 0x01,        //  4 jz 7
      0x50,              //  6 push rax
      0x90,              //  7 nop              <-
      0x48, 0x89, 0xec,  //  8 mov rsp, rbp
      0x5d,              // 11 pop rbp
      0xc3,              // 12 ret
  };
  const FrameFlow flow = followed(code);
  EXPECT_EQ(flow.before(6)->points[kRsp], 16);
  EXPECT_EQ(flow.before(7)->points[kRsp], kUnknown);
  EXPECT_EQ(flow.before(7)->base(), kRbp);
  EXPECT_EQ(flow.before(12)->points[kRsp], 8);
  EXPECT_EQ(flow.bad_returns(), 0U);
}

}  // namespace
}  // namespace jitscope
