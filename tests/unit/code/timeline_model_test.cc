// Timeline against the model of its rules (fuzz/timeline_check.h), and against much of everything.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "fuzz/timeline_check.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

TEST(TimelineModel, RandomRecords) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> bytes(1 + random() % (seed % 2 == 0 ? 40 : 240));
    for (std::byte& one : bytes) one = static_cast<std::byte>(random());
    ASSERT_EQ(fuzz::check_timeline(bytes), "") << "seed " << seed;
  }
}

TEST(TimelineModel, Corpus) {
  EXPECT_GE(test::replay_corpus("timeline", fuzz::check_timeline, 40), 8U);
}

// Each of these would take hours if one record could cost as much as all before it.
TEST(TimelineHostile, RecordsThatAllMeetEachOther) {
  constexpr uint64_t kMany = 30'000;
  const auto ask = [](Timeline& timeline) {
    timeline.set_grace(1000);
    timeline.seal();
    for (uint64_t i = 0; i < 2000; ++i) {
      const TimelineAnswer answer = timeline.at(i * 7, i * 11);
      EXPECT_LE(answer.valid_from, i * 11);
      EXPECT_LE(answer.candidates.size(), Timeline::kMostCandidates);
      EXPECT_LE(timeline.at_any_time(i * 3).candidates.size(), Timeline::kMostCandidates);
    }
  };
  Timeline overlapping;
  Timeline equal;
  Timeline backward;
  Timeline shrinking;
  Timeline growing;
  Timeline windows;
  Timeline covered;
  Timeline moving;
  moving.add(0, 1000, 0, 0, "m");
  covered.add(0, kMany * 4, 5, 5, "o");
  for (uint64_t i = 0; i < kMany; ++i) {
    const std::string name = std::to_string(i);
    overlapping.add(i, 1'000'000, i, i * 10, name);
    equal.add(i, 1'000'000, 5, 5, name);
    backward.add(i, 1'000'000, 0, (kMany - i) * 10, name);
    shrinking.add(i, 2 * (kMany - i), 5, 5, name);
    growing.add(kMany - i, 2 * i + 1, 5, 5, name);
    windows.add(i % 100, 1'000'000 - i, 1, i + 2, name);
    covered.add(1 + i * 4, 2, 5, 5, name);
    covered.add(0, kMany * 4, 5, 5, i % 2 == 0 ? "o" : "p");
    covered.gone(1 + i * 4, 2, 6);
    covered.gone(1, kMany * 4 - 2, 6);
    moving.move(i % 7 * 5, (i + 1) % 7 * 5, 1000, i);
  }
  for (Timeline* timeline :
       {&overlapping, &equal, &backward, &shrinking, &growing, &windows, &covered, &moving}) {
    ask(*timeline);
  }
}

}  // namespace
}  // namespace jitscope
