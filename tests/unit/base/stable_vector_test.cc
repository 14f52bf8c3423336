#include "base/stable_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/hand_over.h"

namespace jitscope {
namespace {

TEST(StableVectorTest, ElementsStayWhereTheyAre) {
  StableVector<std::string> list;
  EXPECT_TRUE(list.empty());
  std::vector<const std::string*> places;
  constexpr size_t count = 10'000;
  for (size_t i = 0; i < count; ++i) {
    list.push_back(std::to_string(i));
    places.push_back(&list[i]);
    ASSERT_EQ(list.size(), i + 1);
  }
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(&list[i], places[i]);
    ASSERT_EQ(list[i], std::to_string(i));
  }
}

TEST(StableVectorTest, AllOfThemCanBeTaken) {
  StableVector<std::unique_ptr<int>> list;
  for (int i = 0; i < 5000; ++i) list.push_back(std::make_unique<int>(i));
  const auto all = list.take();
  ASSERT_EQ(all.size(), 5000U);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(*all[static_cast<size_t>(i)], i);
  EXPECT_TRUE(list.empty());
  list.push_back(std::make_unique<int>(7));
  EXPECT_EQ(*list[0], 7);
}

TEST(StableVectorTest, BeginsWithWhatItIsGiven) {
  const StableVector<std::string> list{"first"};
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0], "first");
}

// What the other thread was told of may be read while more are added.
TEST(StableVectorTest, IsReadWhileItGrows) {
  constexpr size_t count = 50'000;
  StableVector<std::string> list;
  HandOver<const size_t> told(8);
  std::vector<size_t> numbers(count);
  std::thread reader([&] {
    while (const size_t* const number = told.take()) {
      EXPECT_EQ(list[*number], std::to_string(*number));
      EXPECT_GT(list.size(), *number);
    }
  });
  for (size_t i = 0; i < count; ++i) {
    list.push_back(std::to_string(i));
    numbers[i] = i;
    told.give(&numbers[i]);
  }
  told.close();
  reader.join();
}

}  // namespace
}  // namespace jitscope
