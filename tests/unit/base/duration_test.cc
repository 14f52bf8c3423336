#include "base/duration.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

TEST(Duration, UnitsAndBareSeconds) {
  EXPECT_EQ(parse_duration("10"), 10);
  EXPECT_EQ(parse_duration("10s"), 10);
  EXPECT_EQ(parse_duration("0.5"), 0.5);
  EXPECT_EQ(parse_duration("500ms"), 0.5);
  EXPECT_EQ(parse_duration("2m"), 120);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
}

TEST(Duration, WhatIsNone) {
  for (const char* text : {"", "s", "0", "0s", "-1", "-1s", "10x", "10 s", "1e3", "nan", "inf",
                           "10ss", "99999999999999", "1m30s", "0x10", "+1"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

}  // namespace
}  // namespace jitscope
