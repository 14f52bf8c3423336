#include "capture/look_pacer.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace jitscope {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr LookPacer::Limits kLimits{
    .shortest_ns = 20 * kMs, .longest_ns = 2000 * kMs, .share = 0.05, .credit_ns = 100 * kMs};

// Looks for `wall`, each at the cost given; what they cost together.
uint64_t spend(LookPacer& pacer, uint64_t& now, uint64_t wall, uint64_t cost) {
  const uint64_t end = now + wall;
  uint64_t spent = 0;
  while (now < end) {
    now += cost;
    spent += cost;
    now += pacer.pause_after(now, cost);
  }
  return spent;
}

TEST(LookPacer, CheapLooksComeAsOftenAsTheyMay) {
  LookPacer pacer(kLimits);
  uint64_t now = kMs;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t pause = pacer.pause_after(now, kMs / 2);
    ASSERT_EQ(pause, 20 * kMs) << i;
    now += pause;
  }
}

TEST(LookPacer, OneDearLookDoesNotDelayTheNext) {
  LookPacer pacer(kLimits);
  uint64_t now = kMs;
  EXPECT_EQ(pacer.pause_after(now, 60 * kMs), 20 * kMs);
  now += 20 * kMs;
  EXPECT_EQ(pacer.pause_after(now, 30 * kMs), 20 * kMs);
  now += 20 * kMs;
  // 100 - 60 + 1 - 30 + 1 - 50 = -38 ms of credit: at 5 % 760 ms.
  EXPECT_EQ(pacer.pause_after(now, 50 * kMs), 760 * kMs);
}

TEST(LookPacer, InTheLongRunTheShareHolds) {
  LookPacer pacer(kLimits);
  uint64_t now = kMs;
  const uint64_t first = spend(pacer, now, 2000 * kMs, 30 * kMs);
  EXPECT_GE(first, 150 * kMs);  // the credit and the share
  EXPECT_LE(first, 100 * kMs + 100 * kMs + 2 * 30 * kMs);
  const uint64_t wall = 100'000 * kMs;
  const uint64_t later = spend(pacer, now, wall, 30 * kMs);
  EXPECT_LE(later, wall / 20 + 2 * 30 * kMs);
  EXPECT_GE(later, wall / 20 - 2 * 30 * kMs);
}

TEST(LookPacer, CreditIsSavedUpToItsLimit) {
  LookPacer pacer(kLimits);
  uint64_t now = kMs;
  (void)pacer.pause_after(now, 100 * kMs);
  now += 3'600'000 * kMs;
  EXPECT_EQ(pacer.pause_after(now, 100 * kMs), 20 * kMs);
  EXPECT_EQ(pacer.pause_after(now, 10 * kMs), 200 * kMs);
}

TEST(LookPacer, SharersSplitShareAndCredit) {
  LookPacer pacer(kLimits);
  const uint64_t now = kMs;
  EXPECT_EQ(pacer.pause_after(now, 25 * kMs, 4), 20 * kMs);
  EXPECT_EQ(pacer.pause_after(now, 5 * kMs, 4), 400 * kMs);
}

constexpr LookPacer::Limits kCalm{.shortest_ns = 20 * kMs,
                                  .longest_ns = 2000 * kMs,
                                  .share = 0.05,
                                  .calm_share = 0.005,
                                  .worth_ns = kMs / 10,
                                  .credit_ns = 100 * kMs};

// What looks cost in 100 s of which each finds so many bodies.
uint64_t spend_finding(uint64_t found) {
  LookPacer pacer(kCalm);
  uint64_t now = kMs;
  uint64_t spent = 0;
  (void)pacer.pause_after(now, kCalm.credit_ns);  // the credit of the beginning is used up
  while (now < 100'000 * kMs) {
    now += 2 * kMs;
    spent += 2 * kMs;
    now += pacer.pause_after(now, 2 * kMs, 1, found);
  }
  return spent;
}

TEST(LookPacer, WhatFindsNothingGetsTheSmallShare) {
  EXPECT_LE(spend_finding(0), 500 * kMs + 4 * kMs);
  EXPECT_GE(spend_finding(0), 500 * kMs - 4 * kMs);
}

TEST(LookPacer, WhatFindsMuchGetsTheWholeShareAndNoMore) {
  EXPECT_LE(spend_finding(1'000'000), 5000 * kMs + 4 * kMs);
  EXPECT_GE(spend_finding(1'000'000), 4500 * kMs);
  // A look that finds ten bodies has paid half of itself.
  EXPECT_GE(spend_finding(10), 900 * kMs);
  EXPECT_LE(spend_finding(10), 1100 * kMs);
}

TEST(LookPacer, NeverBlindForLongerThanTheLongestPause) {
  LookPacer pacer(kLimits);
  EXPECT_EQ(pacer.pause_after(kMs, UINT64_MAX), 2000 * kMs);
  // And what it owes beyond that is forgotten.
  EXPECT_EQ(pacer.pause_after(2001 * kMs, 0), 20 * kMs);
}

}  // namespace
}  // namespace jitscope
