#include "base/hand_over.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

namespace jitscope {
namespace {

TEST(HandOverTest, KeepsTheOrderAndEndsWhenClosed) {
  std::array<int, 3> items{};
  HandOver<int> queue(2);
  for (int& item : items) queue.give(&item);
  queue.close();
  for (int& item : items) EXPECT_EQ(queue.take(), &item);
  EXPECT_EQ(queue.take(), nullptr);
}

TEST(HandOverTest, TheLastOneCanBeTaken) {
  std::array<int, 2> items{};
  HandOver<int> queue(1);
  for (int& item : items) queue.give(&item);
  EXPECT_EQ(queue.take_last(), &items[1]);
  EXPECT_EQ(queue.take_last(), items.data());
}

TEST(HandOverTest, WhatIsCancelledIsNotGiven) {
  int item = 0;
  HandOver<int> queue(1);
  queue.give(&item);
  queue.cancel();
  EXPECT_EQ(queue.take(), nullptr);
  EXPECT_EQ(queue.take_last(), nullptr);
  EXPECT_FALSE(queue.wait_for(1));
}

// One that found nothing waits for a few; somebody in a hurry is served at once.
TEST(HandOverTest, AHurryWakesTheOneThatWaitsForAFew) {
  int item = 0;
  HandOver<int> there(5);
  HandOver<int> back(5);
  std::thread other([&] {
    while (int* const got = there.take()) back.give(got);
  });
  there.give(&item);
  there.hurry(true);
  EXPECT_TRUE(back.wait_for(1));
  there.hurry(false);
  there.close();
  other.join();
}

// A fixed number of items goes round, whoever waits for how many.
TEST(HandOverTest, ItemsGoRound) {
  constexpr size_t count = 24;
  constexpr size_t few = 6;
  constexpr int laps = 20'000;
  std::array<int, count> items{};
  HandOver<int> empty(few);
  HandOver<int> half(few);
  HandOver<int> full(few);
  for (int& item : items) empty.give(&item);
  std::thread first([&] {
    for (int i = 0; i < laps; ++i) {
      int* const item = empty.take_last();
      *item = i;
      half.give(item);
    }
    half.close();
  });
  std::thread second([&] {
    while (int* const item = half.take()) full.give(item);
    full.close();
  });
  int next = 0;
  while (int* const item = full.take()) {
    EXPECT_EQ(*item, next++);
    empty.give(item);
  }
  EXPECT_EQ(next, laps);
  first.join();
  second.join();
  EXPECT_TRUE(empty.wait_for(count));
}

}  // namespace
}  // namespace jitscope
