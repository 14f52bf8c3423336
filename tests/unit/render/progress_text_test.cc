#include "render/progress_text.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

using std::chrono::seconds;

TEST(ProgressText, SaysHowMuchHowFastAndHowLongYet) {
  EXPECT_EQ(progress_text("reading x", {50'000'000, 200'000'000, seconds(5)}),
            "reading x: 25 % of 200 MB, 10 MB/s, 15 s left");
  EXPECT_EQ(progress_text("reading x", {1'000'000, 4'000'000'000, seconds(2)}),
            "reading x: 0 % of 4000 MB, 0.5 MB/s, 2 h left");
  EXPECT_EQ(progress_text("reading x", {1'000'000, 400'000'000, seconds(2)}),
            "reading x: 0 % of 400 MB, 0.5 MB/s, 13 min left");
}

TEST(ProgressText, OfAPipeNobodyKnowsTheSize) {
  EXPECT_EQ(progress_text("reading -", {6'000'000, 0, seconds(4)}), "reading -: 6.0 MB, 1.5 MB/s");
}

TEST(ProgressText, WhatFollowsTheReadingTakesTimeToo) {
  EXPECT_EQ(progress_text("reading x", {3'000'000, 3'000'000, seconds(7)}),
            "reading x: all of 3.0 MB read, 7 s so far");
  // A file that grew.
  EXPECT_EQ(progress_text("reading x", {3'100'000, 3'000'000, seconds(7)}),
            "reading x: all of 3.0 MB read, 7 s so far");
}

TEST(ProgressText, NothingDoneOrNoTime) {
  EXPECT_EQ(progress_text("reading x", {0, 5, seconds(3)}), "reading x: 3 s");
  EXPECT_EQ(progress_text("reading x", {1'000, 5'000'000, {}}),
            "reading x: 0 % of 5.0 MB, 1.0 MB/s, 5 s left");
}

}  // namespace
}  // namespace jitscope
