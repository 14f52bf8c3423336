// The pauses between looks at something quiet, with the clock given.
#include "base/back_off.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace jitscope {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr BackOff::Limits kLimits{10 * kMs, 1000 * kMs, 8};
constexpr uint64_t kBegin = 5'000 * kMs;

// When it is looked, from `now` on, until `end`; looks find nothing.
unsigned looks(const BackOff& back_off, uint64_t now, uint64_t end) {
  unsigned count = 0;
  for (; now < end; now += back_off.pause(now)) ++count;
  return count;
}

TEST(BackOff, ThePauseIsAPartOfTheQuietBetweenItsLimits) {
  const BackOff back_off(kLimits, kBegin);
  EXPECT_EQ(back_off.pause(kBegin), 10 * kMs);
  EXPECT_EQ(back_off.pause(kBegin + 80 * kMs), 10 * kMs);
  EXPECT_EQ(back_off.pause(kBegin + 160 * kMs), 20 * kMs);
  EXPECT_EQ(back_off.pause(kBegin + 4'000 * kMs), 500 * kMs);
  EXPECT_EQ(back_off.pause(kBegin + 8'000 * kMs), 1000 * kMs);
  EXPECT_EQ(back_off.pause(kBegin + 3'600'000 * kMs), 1000 * kMs);
}

TEST(BackOff, WhatHappensMakesItShortAgain) {
  BackOff back_off(kLimits, kBegin);
  uint64_t now = kBegin + 60'000 * kMs;
  ASSERT_EQ(back_off.pause(now), 1000 * kMs);
  back_off.happened(now);
  EXPECT_EQ(back_off.pause(now), 10 * kMs);
  now += 400 * kMs;
  EXPECT_EQ(back_off.pause(now), 50 * kMs);
  // An older event is no news.
  back_off.happened(kBegin);
  EXPECT_EQ(back_off.pause(now), 50 * kMs);
}

TEST(BackOff, AQuietMinuteTakesFewLooks) {
  const BackOff back_off(kLimits, kBegin);
  const unsigned first_second = looks(back_off, kBegin, kBegin + 1'000 * kMs);
  const unsigned minute = looks(back_off, kBegin, kBegin + 60'000 * kMs);
  EXPECT_LE(first_second, 40U);
  EXPECT_LE(minute, first_second + 80U);
  EXPECT_GE(minute, 59U) << "and yet it is never left alone for longer than the longest pause";
}

TEST(BackOff, IsNeverLateByMoreThanThePartOfTheQuiet) {
  const BackOff back_off(kLimits, kBegin);
  uint64_t looked = kBegin;
  while (looked < kBegin + 20'000 * kMs) {
    const uint64_t next = looked + back_off.pause(looked);
    const uint64_t quiet = looked - kBegin;
    EXPECT_LE(next - looked, std::max(quiet / 8, 10 * kMs));
    looked = next;
  }
}

TEST(BackOff, OtherLimitsCountFromTheSameMoment) {
  const BackOff back_off(kLimits, kBegin);
  EXPECT_EQ(back_off.pause(kBegin + 800 * kMs, {2 * kMs, 5000 * kMs, 1}), 800 * kMs);
  EXPECT_EQ(back_off.pause(kBegin + 800 * kMs, {2 * kMs, 5000 * kMs, 0}), 800 * kMs);
}

TEST(BackOff, AClockThatStandsStillOrLimitsThatMakeNoSenseDoNoHarm) {
  const BackOff back_off({10 * kMs, 1 * kMs, 8}, kBegin);
  EXPECT_EQ(back_off.pause(kBegin - 1), 10 * kMs);
  EXPECT_EQ(back_off.pause(UINT64_MAX), 10 * kMs);
}

}  // namespace
}  // namespace jitscope
