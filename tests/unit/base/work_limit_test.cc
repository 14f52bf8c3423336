// Limits of work: they end it by time and by an interrupt, nest, and stay over.
#include "base/work_limit.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

TEST(WorkLimit, WithoutOneNothingEnds) {
  EXPECT_FALSE(WorkLimit::over());
}

TEST(WorkLimit, EndsByTime) {
  const WorkLimit none{nanoseconds(0)};
  EXPECT_TRUE(WorkLimit::over());
}

TEST(WorkLimit, EndsByAnInterrupt) {
  bool stop = false;
  const WorkLimit limit{hours(1), [&] { return stop; }};
  EXPECT_FALSE(WorkLimit::over());
  stop = true;
  EXPECT_TRUE(WorkLimit::over());
  stop = false;
  EXPECT_TRUE(WorkLimit::over()) << "work that was broken off is not taken up again";
}

TEST(WorkLimit, AnInnerOneNeverMakesItLonger) {
  bool stop = false;
  const WorkLimit outer{hours(1), [&] { return stop; }};
  {
    const WorkLimit inner{nanoseconds(0)};
    EXPECT_TRUE(WorkLimit::over());
  }
  EXPECT_FALSE(WorkLimit::over()) << "the outer one has its own time";
  const WorkLimit inner{hours(2)};
  EXPECT_FALSE(WorkLimit::over());
  stop = true;
  EXPECT_TRUE(WorkLimit::over()) << "an interrupt of the outer one ends the inner work";
}

TEST(WorkLimit, AMeterLooksNowAndThen) {
  int asked = 0;
  const WorkLimit limit{hours(1), [&] {
                          ++asked;
                          return false;
                        }};
  WorkMeter meter(10);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(meter.over());
  EXPECT_EQ(asked, 10);
}

TEST(WorkLimit, ABudgetIsSpentByItsPieces) {
  WorkBudget budget{nanoseconds(1), hours(1)};
  EXPECT_FALSE(budget.spent());
  {
    const WorkBudget::Piece piece(budget);
    while (!WorkLimit::over()) continue;
  }
  EXPECT_TRUE(budget.spent());
  const WorkBudget::Piece piece(budget);
  EXPECT_TRUE(WorkLimit::over());
}

}  // namespace
}  // namespace jitscope
