// --time: what perf takes, with its meaning, and what is refused.
#include "session/time_windows.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TimeWindows windows(std::string_view text) {
  auto parsed = TimeWindows::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : TimeWindows();
}

TEST(TimeWindows, BothEndsBelongToAWindow) {
  const TimeWindows both = windows("1.5,2");
  EXPECT_FALSE(both.holds(kSecond * 3 / 2 - 1));
  EXPECT_TRUE(both.holds(kSecond * 3 / 2));
  EXPECT_TRUE(both.holds(kSecond * 2));
  EXPECT_FALSE(both.holds(kSecond * 2 + 1));
}

TEST(TimeWindows, EndsMayBeMissing) {
  EXPECT_TRUE(windows("1.5,").holds(UINT64_MAX));
  EXPECT_FALSE(windows("1.5,").holds(1));
  EXPECT_TRUE(windows(",1.5").holds(1));
  EXPECT_FALSE(windows(",1.5").holds(kSecond * 2));
  EXPECT_TRUE(windows(",").holds(1));
  EXPECT_TRUE(windows(".000000001,.000000002").holds(2));
  EXPECT_FALSE(windows(".000000001,.000000002").holds(3));
}

TEST(TimeWindows, ThereMayBeSeveral) {
  const TimeWindows two = windows("1,2  4,5 ");
  EXPECT_TRUE(two.holds(kSecond));
  EXPECT_FALSE(two.holds(kSecond * 3));
  EXPECT_TRUE(two.holds(kSecond * 5));
  EXPECT_FALSE(two.relative());
}

TEST(TimeWindows, WhatHasNoTimeIsTaken) {
  EXPECT_TRUE(windows("1,2").holds(0));
  EXPECT_TRUE(TimeWindows().holds(17));
}

// As tools/perf/util/time-utils.c computes them: a slice ends where the next one begins.
TEST(TimeWindows, SharesAreOfTheTimeBetweenTheFirstAndTheLastSample) {
  const auto holds = [](std::string_view text, uint64_t time) {
    TimeWindows settled = windows(text);
    EXPECT_TRUE(settled.relative()) << text;
    settled.settle(1000, 2000);
    return settled.holds(time);
  };
  EXPECT_TRUE(holds("10%-20%", 1100));
  EXPECT_TRUE(holds("10%-20%", 1199));
  EXPECT_FALSE(holds("10%-20%", 1200));
  EXPECT_FALSE(holds("10%-20%", 1099));
  EXPECT_TRUE(holds("10%/2", 1100));
  EXPECT_FALSE(holds("10%/2", 1200));
  EXPECT_TRUE(holds("10%/10", 2000));
  EXPECT_TRUE(holds("90%-100%", 2000));
  EXPECT_TRUE(holds("12.5%", 1000));
  EXPECT_FALSE(holds("12.5%", 1125));
  EXPECT_TRUE(holds("0%-10%,30%-40%", 1350));
  EXPECT_FALSE(holds("0%-10%,30%-40%", 1250));
}

TEST(TimeWindows, RecordingsOfAnyLengthAreCut) {
  TimeWindows one = windows("50%-100%");
  one.settle(7, 7);
  EXPECT_TRUE(one.holds(7));
  TimeWindows backwards = windows("0%-100%");
  backwards.settle(UINT64_MAX, 1);
  EXPECT_FALSE(backwards.holds(2));
  TimeWindows all = windows("0%-100%");
  all.settle(1, UINT64_MAX);
  EXPECT_TRUE(all.holds(1));
}

TEST(TimeWindows, OtherTextsAreRefused) {
  for (const char* text : {"",
                           " ",
                           "5",
                           "5,1",
                           "nan,",
                           ",inf",
                           "-1,",
                           "+1,",
                           "1e3,",
                           "0x10,",
                           "1.0000000001,",
                           ".,1",
                           "1.,.",
                           "1..2,",
                           "18446744073709551616,",
                           "18446744073709551615.9,",
                           "18446744073,",
                           "1,2,3",
                           "1,2;3,4",
                           "x",
                           "%",
                           "%-%",
                           "10",
                           "10%-",
                           "-10%",
                           "20%-10%",
                           "10%-120%",
                           "10%/0",
                           "10%/11",
                           "0%/1",
                           "10%/x",
                           "10%/18446744073709551616",
                           "nan%",
                           "inf%",
                           "1e400%",
                           "10%,,20%",
                           "1,2 10%"}) {
    const auto parsed = TimeWindows::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage) << text;
    EXPECT_FALSE(parsed.error().hint.empty()) << text;
  }
}

}  // namespace
}  // namespace jitscope
