#include "inject/view.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace jitscope {
namespace {

perfdata::Record fork_record(uint32_t pid, uint32_t parent, uint16_t misc = 0) {
  perfdata::Record record;
  record.head.misc = misc;
  perfdata::Fork fork;
  fork.pid = fork.tid = pid;
  fork.parent_pid = fork.parent_tid = parent;
  record.body = fork;
  return record;
}

TEST(PerfViewTest, ShowsWhatWasShownLast) {
  PerfView view;
  EXPECT_FALSE(view.shows(0x1000, 0x1000, 1));
  view.show(0x1000, 0x2000, 1, false);
  EXPECT_TRUE(view.shows(0x1000, 0x1fff, 1));
  EXPECT_FALSE(view.shows(0x1000, 0x2000, 1));
  EXPECT_FALSE(view.shows(0xfff, 0x1000, 1));
  view.show(0x1400, 0x1500, 2, false);
  EXPECT_TRUE(view.shows(0x1000, 0x13ff, 1));
  EXPECT_TRUE(view.shows(0x1400, 0x14ff, 2));
  EXPECT_TRUE(view.shows(0x1500, 0x1fff, 1));
  EXPECT_FALSE(view.shows(0x1000, 0x1fff, 1));
}

TEST(PerfViewTest, PiecesOfOneCodeAreOne) {
  PerfView view;
  view.show(0x1000, 0x1800, 1, false);
  view.show(0x1800, 0x2000, 1, false);
  EXPECT_TRUE(view.shows(0x1000, 0x1fff, 1));
}

TEST(PerfViewTest, StatesTellWhatMayHaveChanged) {
  PerfView view;
  const uint64_t empty = view.changed();
  view.show(0x1000, 0x2000, 1, false);
  EXPECT_NE(view.changed(), empty);
  const uint64_t lost = view.lost();
  view.show(0x3000, 0x4000, 2, false);
  EXPECT_EQ(view.lost(), lost);  // nothing went
  view.cover(0x8000, 0x9000);
  EXPECT_EQ(view.lost(), lost);
  view.cover(0x1f00, 0x3000);
  EXPECT_NE(view.lost(), lost);
  EXPECT_TRUE(view.shows(0x1000, 0x1eff, 1));
  EXPECT_FALSE(view.shows(0x1000, 0x1fff, 1));
}

TEST(PerfViewTest, AfterExecNothingIsReliedUponButAllMayHide) {
  PerfView view;
  view.show(0x1000, 0x2000, 1, true);
  view.set_tables(0);
  view.doubt();
  EXPECT_FALSE(view.shows(0x1000, 0x1fff, 1));
  EXPECT_EQ(view.pieces(0x1800, 0x1fff).size(), 1U);
  EXPECT_FALSE(view.has_tables(0));
  EXPECT_TRUE(view.may_hide_file(0x1fff, 0x5000));
  EXPECT_FALSE(view.may_hide_file(0x2000, 0x5000));
}

TEST(PerfViewsTest, AChildHasItsParentsViewAndGoesItsOwnWay) {
  PerfViews views;
  views.of(1).show(0x1000, 0x2000, 7, false);
  views.apply(fork_record(2, 1));
  EXPECT_TRUE(views.of(2).shows(0x1000, 0x1fff, 7));
  views.of(2).cover(0x1000, 0x2000);
  EXPECT_TRUE(views.of(1).shows(0x1000, 0x1fff, 7));
  EXPECT_NE(views.of(1).changed(), views.of(2).changed());
  // A process that perf found, whose mappings it tells itself.
  constexpr uint16_t made_up = 1U << 13U;
  views.apply(fork_record(3, 1, made_up));
  EXPECT_FALSE(views.of(3).shows(0x1000, 0x1000, 7));
}

// Against a map with an entry for each address.
TEST(PerfViewTest, IsRightWhateverTheOrder) {
  std::mt19937 random(5);
  const auto below = [&](uint32_t limit) { return static_cast<uint64_t>(random() % limit); };
  for (int round = 0; round < 200; ++round) {
    PerfView view;
    std::map<uint64_t, uint32_t> truth;
    for (int step = 0; step < 40; ++step) {
      const uint64_t start = below(64);
      const uint64_t end = start + 1 + below(16);
      if (below(3) == 0) {
        view.cover(start, end);
        for (uint64_t at = start; at < end; ++at) truth.erase(at);
      } else {
        const auto code = static_cast<uint32_t>(below(4));
        view.show(start, end, code, false);
        for (uint64_t at = start; at < end; ++at) truth[at] = code;
      }
      std::map<uint64_t, uint32_t> told;
      for (const auto& [from, piece] : view.pieces(0, UINT64_MAX)) {
        for (uint64_t at = from; at < piece.end; ++at) {
          EXPECT_TRUE(told.emplace(at, piece.code).second);
        }
      }
      ASSERT_EQ(told, truth);
      const uint64_t low = below(64);
      const uint64_t high = low + below(8);
      const auto code = static_cast<uint32_t>(below(4));
      bool all = true;
      for (uint64_t at = low; at <= high; ++at) {
        all = all && truth.contains(at) && truth[at] == code;
      }
      ASSERT_EQ(view.shows(low, high, code), all);
    }
  }
}

}  // namespace
}  // namespace jitscope
