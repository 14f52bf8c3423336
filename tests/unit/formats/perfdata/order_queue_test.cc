// The queue against a plain stable sort, for inputs that are nearly sorted, random and falling.
#include "formats/perfdata/order_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <tuple>
#include <vector>

namespace jitscope::perfdata {
namespace {

using Key = std::pair<uint64_t, uint64_t>;

void check(const std::function<uint64_t(uint64_t)>& time_of, uint64_t count, unsigned seed) {
  std::mt19937 random(seed);
  OrderQueue queue;
  std::vector<Key> waiting;
  const auto pop_one = [&] {
    const auto first = std::ranges::min_element(waiting);
    ASSERT_EQ(queue.first_time(), first->first);
    const OrderQueue::Entry entry = queue.pop();
    ASSERT_EQ((Key{entry.time, entry.sequence}), *first);
    waiting.erase(first);
  };
  for (uint64_t i = 0; i < count; ++i) {
    queue.push({time_of(i), i, nullptr, 0, 8});
    waiting.emplace_back(time_of(i), i);
    // Now and then some leave, at times all.
    if (random() % 50 == 0) {
      const size_t leave = random() % 3 == 0 ? waiting.size() : random() % (waiting.size() + 1);
      for (size_t k = 0; k < leave; ++k) pop_one();
    }
    ASSERT_EQ(queue.empty(), waiting.empty());
    ASSERT_GE(queue.bytes(), waiting.size() * sizeof(OrderQueue::Entry));
  }
  while (!waiting.empty()) pop_one();
  EXPECT_TRUE(queue.empty());
}

TEST(PerfDataOrderQueue, SortedStreams) {
  for (const uint64_t streams : {1U, 2U, 5U, 64U}) {
    check([&](uint64_t i) { return i % (1000 / streams) * 10 + i / (1000 / streams); }, 3000, 1);
  }
}

TEST(PerfDataOrderQueue, Rising) {
  check([](uint64_t i) { return i / 3; }, 2000, 2);
}

TEST(PerfDataOrderQueue, Falling) {
  check([](uint64_t i) { return 100000 - i; }, 2000, 3);
}

TEST(PerfDataOrderQueue, Random) {
  std::mt19937 random(4);
  std::vector<uint64_t> times(2000);
  for (uint64_t& time : times) time = random() % 500;
  check([&](uint64_t i) { return times[i]; }, times.size(), 5);
}

}  // namespace
}  // namespace jitscope::perfdata
