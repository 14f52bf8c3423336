#include "code/timeline.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace jitscope {
namespace {

constexpr uint64_t kLater = 10'000'000;  // more than what makes loads nested

// "name", "name?" where ambiguous, "(name)" by grace, "" for none.
std::string at(const Timeline& timeline, uint64_t address, uint64_t time) {
  const TimelineAnswer answer = timeline.at(address, time);
  if (answer.body == kNoBody) return "";
  const std::string name(timeline.body(answer.body).name);
  if (answer.by_grace) return "(" + name + ")";
  return answer.ambiguous ? name + "?" : name;
}
std::string any(const Timeline& timeline, uint64_t address) {
  const TimelineAnswer answer = timeline.at_any_time(address);
  if (answer.body == kNoBody) return "";
  return std::string(timeline.body(answer.body).name) + (answer.ambiguous ? "?" : "");
}

TEST(Timeline, ALoadEndsWhatItOverlapsWhole) {
  Timeline timeline;
  timeline.add(100, 100, 10, 10, "first");
  const BodyId second = timeline.add(150, 100, kLater, kLater, "second");
  timeline.seal();
  EXPECT_EQ(at(timeline, 100, 9), "");
  EXPECT_EQ(at(timeline, 100, 10), "first");
  EXPECT_EQ(at(timeline, 199, kLater - 1), "first");
  EXPECT_EQ(at(timeline, 200, kLater - 1), "");
  EXPECT_EQ(at(timeline, 100, kLater), "");
  EXPECT_EQ(at(timeline, 150, kLater), "second");
  EXPECT_EQ(at(timeline, 249, kForever - 1), "second");
  const TimelineAnswer ended = timeline.at(100, kLater + 5);
  EXPECT_EQ(timeline.body(ended.ended).name, "first");
  EXPECT_EQ(ended.valid_from, kLater);
  EXPECT_EQ(ended.valid_until, kForever);
  EXPECT_EQ(timeline.body(0).until, kLater);
  EXPECT_EQ(timeline.body(second).until, kForever);
  EXPECT_EQ(timeline.first_time(), 10U);
  EXPECT_EQ(timeline.last_time(), kLater);
  EXPECT_EQ(any(timeline, 100), "first");
  EXPECT_EQ(any(timeline, 160), "second?");
  EXPECT_EQ(any(timeline, 230), "second");
  EXPECT_EQ(any(timeline, 260), "");
}

TEST(Timeline, RecordsInAnyOrder) {
  Timeline timeline;
  timeline.add(100, 10, 30, 30, "third");
  timeline.add(100, 10, 10, 10, "first");
  timeline.gone(100, 10, 40);
  timeline.add(100, 10, 20, 20, "second");
  timeline.seal();
  EXPECT_EQ(at(timeline, 105, 15), "first");
  EXPECT_EQ(at(timeline, 105, 25), "second");
  EXPECT_EQ(at(timeline, 105, 35), "third");
  EXPECT_EQ(at(timeline, 105, 45), "");
  EXPECT_EQ(at(timeline, 105, 5), "");
}

TEST(Timeline, OfEqualTimesTheLaterAddedWins) {
  Timeline timeline;
  timeline.add(100, 10, 5, 5, "first");
  timeline.add(105, 10, 5, 5, "second");
  timeline.seal();
  EXPECT_EQ(at(timeline, 100, 5), "");
  EXPECT_EQ(at(timeline, 107, 5), "second");
  EXPECT_EQ(any(timeline, 107), "second?");
}

TEST(Timeline, LoggedAgainItGoesOn) {
  Timeline timeline;
  const BodyId first = timeline.add(100, 10, 5, 5, "f");
  const BodyId again = timeline.add(100, 10, 1, kLater, "f");
  timeline.gone(100, 10, 2 * kLater);
  timeline.seal();
  const TimelineAnswer answer = timeline.at(100, kLater + 5);
  EXPECT_EQ(answer.body, first);
  EXPECT_FALSE(answer.ambiguous);
  EXPECT_EQ(answer.valid_from, 5U);
  EXPECT_EQ(answer.valid_until, 2 * kLater);
  EXPECT_EQ(timeline.body(again).until, 2 * kLater);
  EXPECT_EQ(at(timeline, 100, 4), "");  // `since` of a body that was known already says nothing
}

TEST(Timeline, HowLongALoadInsideIsNested) {
  const auto outer = [](uint64_t later) {
    Timeline timeline;
    timeline.add(0, 1000, 5, 5, "blob");
    timeline.add(100, 50, 5 + later, 5 + later, "entry");
    timeline.seal();
    return at(timeline, 99, kLater);
  };
  EXPECT_EQ(outer(Timeline::kNestingTime), "blob");
  EXPECT_EQ(outer(Timeline::kNestingTime + 1), "");
}

TEST(Timeline, TheInnermostHasTheAddress) {
  Timeline timeline;
  timeline.add(0, 1000, 5, 5, "blob");
  timeline.add(100, 50, 6, 6, "entry");
  timeline.add(120, 10, 7, 7, "part");
  timeline.gone(100, 50, kLater);
  timeline.add(130, 10, kLater + 1, kLater + 1, "new");
  timeline.seal();
  EXPECT_EQ(at(timeline, 99, 8), "blob");
  EXPECT_EQ(at(timeline, 100, 8), "entry");
  EXPECT_EQ(at(timeline, 125, 8), "part");
  EXPECT_EQ(at(timeline, 149, 8), "entry");
  EXPECT_EQ(at(timeline, 150, 8), "blob");
  // The entry is gone: its addresses are the blob's again, but for the part that lives.
  EXPECT_EQ(at(timeline, 100, kLater), "blob");
  EXPECT_EQ(at(timeline, 125, kLater), "part");
  // Long after, a load inside is no nested one: it ends the blob, wherever it lies in it.
  EXPECT_EQ(at(timeline, 900, kLater + 1), "");
  EXPECT_EQ(at(timeline, 125, kLater + 1), "part");
  EXPECT_EQ(at(timeline, 130, kLater + 1), "new");
}

TEST(Timeline, AnEnclosingLoadKeepsOnlyWhatIsOfTheSameTime) {
  Timeline timeline;
  timeline.add(100, 50, 5, 5, "entry");
  timeline.add(0, 1000, 5, 5, "blob");
  timeline.add(5100, 50, 5, 5, "old");
  timeline.add(5000, 1000, 6, 6, "new");
  timeline.seal();
  EXPECT_EQ(at(timeline, 100, 5), "entry");
  EXPECT_EQ(at(timeline, 50, 5), "blob");
  EXPECT_EQ(at(timeline, 5100, 6), "new");
}

// A second snapshot logs the blob again, then a new entry: that one is nested, too.
TEST(Timeline, NestingCountsFromTheLastLogging) {
  Timeline timeline;
  timeline.add(0, 1000, 5, 5, "blob");
  timeline.add(0, 1000, kLater, kLater, "blob");
  timeline.add(100, 50, kLater, kLater, "entry");
  timeline.seal();
  EXPECT_EQ(at(timeline, 100, kLater), "entry");
  EXPECT_EQ(at(timeline, 50, kLater), "blob");
}

TEST(Timeline, NestingIsBounded) {
  Timeline shrinking;
  for (uint64_t i = 0; i < 20; ++i) {
    shrinking.add(i, 100 - 2 * i, 5, 5, std::to_string(i));
  }
  shrinking.seal();
  EXPECT_EQ(at(shrinking, 50, 5), "19");
  EXPECT_EQ(at(shrinking, 11, 5), "11");  // the eight around the last one, and the last one
  EXPECT_EQ(at(shrinking, 10, 5), "");

  Timeline growing;
  for (uint64_t i = 0; i < 20; ++i) growing.add(50 - i, 1 + 2 * i, 5, 5, std::to_string(i));
  growing.seal();
  EXPECT_EQ(at(growing, 50 - 19, 5), "19");
  EXPECT_EQ(at(growing, 50 - 11, 5), "11");
  EXPECT_EQ(at(growing, 50 - 10, 5), "11");  // "10" has been inside as many as it may
}

TEST(Timeline, MoveTakesTheNameAndTheLinesAlong) {
  Timeline timeline;
  const TimedLine lines[] = {{100, 1, "a.c"}, {104, 2, "a.c"}};
  timeline.add(100, 10, 5, 5, "f", lines);
  timeline.add(300, 10, 5, 5, "overwritten");
  timeline.move(100, 305, 10, 20);
  timeline.move(777, 305, 3, 30);  // of what nobody told: what lay there is over
  timeline.seal();
  EXPECT_EQ(at(timeline, 100, 19), "f");
  EXPECT_EQ(at(timeline, 100, 20), "");
  EXPECT_EQ(at(timeline, 300, 19), "overwritten");
  EXPECT_EQ(at(timeline, 300, 20), "");
  EXPECT_EQ(at(timeline, 305, 20), "f");
  EXPECT_EQ(at(timeline, 305, 30), "");
  const TimelineAnswer moved = timeline.at(310, 25);
  const auto line = timeline.line_at(moved.body, 310);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->line, 2U);
  EXPECT_EQ(line->address, 309U);
  EXPECT_EQ(line->file, "a.c");
}

TEST(Timeline, GoneEndsWhatItNames) {
  Timeline timeline;
  timeline.add(100, 10, 5, 5, "a");
  timeline.add(110, 10, 5, 5, "b");
  timeline.add(120, 10, 5, 5, "c");
  timeline.gone(110, 10, 10);
  timeline.gone(110, 10, 11);
  timeline.gone(95, 20, 20);  // no such body: what lies wholly inside
  timeline.gone(120, 0, 30);  // any size
  timeline.seal();
  EXPECT_EQ(at(timeline, 105, 10), "a");
  EXPECT_EQ(at(timeline, 115, 10), "");
  EXPECT_EQ(at(timeline, 105, 20), "");
  EXPECT_EQ(at(timeline, 125, 29), "c");
  EXPECT_EQ(at(timeline, 125, 30), "");
}

TEST(Timeline, GraceIsForRecordsThatCameLate) {
  Timeline timeline;
  timeline.add(100, 10, 50, 50, "f");
  timeline.gone(100, 10, 60);
  timeline.add(100, 10, 70, 70, "g");
  timeline.set_grace(5);
  timeline.seal();
  EXPECT_EQ(at(timeline, 105, 44), "");
  EXPECT_EQ(at(timeline, 105, 45), "(f)");
  EXPECT_EQ(at(timeline, 105, 50), "f");
  EXPECT_EQ(at(timeline, 105, 60), "");  // ended: no grace the other way
  EXPECT_EQ(at(timeline, 105, 64), "");
  EXPECT_EQ(at(timeline, 105, 65), "(g)");
  const TimelineAnswer answer = timeline.at(105, 66);
  EXPECT_EQ(answer.valid_from, 65U);
  EXPECT_EQ(answer.valid_until, 70U);
  timeline.set_grace(100);
  EXPECT_EQ(at(timeline, 105, 55), "f");  // something lay there
  EXPECT_EQ(at(timeline, 105, 60), "(g)");
}

TEST(Timeline, BodiesThatMayHaveBeenThereBefore) {
  Timeline timeline;
  timeline.add(100, 10, 10, 10, "old");
  timeline.add(100, 10, 50, 80, "new");
  timeline.add(200, 10, 50, 80, "alone");
  timeline.gone(300, 10, 60);
  timeline.add(300, 10, 10, 10, "gone");
  timeline.add(300, 10, 50, 80, "after");
  timeline.add(400, 10, 10, 10, "same");
  timeline.gone(400, 10, 60);
  timeline.add(400, 10, 50, 80, "same");
  timeline.set_grace(20);
  timeline.seal();
  EXPECT_EQ(at(timeline, 105, 49), "old");
  const TimelineAnswer between = timeline.at(105, 60);
  EXPECT_TRUE(between.ambiguous);
  ASSERT_EQ(between.candidates.size(), 2U);
  EXPECT_EQ(timeline.body(between.candidates[0]).name, "old");
  EXPECT_EQ(timeline.body(between.candidates[1]).name, "new");
  EXPECT_EQ(between.valid_from, 50U);
  EXPECT_EQ(between.valid_until, 80U);
  EXPECT_EQ(at(timeline, 105, 80), "new");
  EXPECT_EQ(at(timeline, 205, 49), "");  // it was seen not to be there: no grace
  EXPECT_EQ(at(timeline, 205, 50), "alone");
  EXPECT_EQ(at(timeline, 305, 55), "gone?");
  EXPECT_EQ(at(timeline, 305, 65), "after");
  EXPECT_EQ(at(timeline, 405, 55), "same");
  EXPECT_EQ(at(timeline, 405, 65), "same");
}

TEST(Timeline, ManyCandidatesAreBounded) {
  Timeline timeline;
  for (uint64_t i = 0; i < 200; ++i) timeline.add(100, 10, 5, 10 + i, std::to_string(i));
  timeline.seal();
  const TimelineAnswer answer = timeline.at(105, 5);
  EXPECT_TRUE(answer.ambiguous);
  EXPECT_EQ(answer.candidates.size(), Timeline::kMostCandidates);
  EXPECT_EQ(answer.valid_from, 5U);
  EXPECT_EQ(timeline.at_any_time(105).candidates.size(), Timeline::kMostCandidates);
  EXPECT_EQ(any(timeline, 105), "199?");
}

TEST(Timeline, Lines) {
  Timeline timeline;
  const TimedLine lines[] = {{110, 3, "b.c"}, {90, 9, "before"}, {102, 1, "a.c"}, {110, 4, "b.c"}};
  const BodyId id = timeline.add(100, 20, 5, 5, "f", lines);
  const BodyId none = timeline.add(200, 20, 5, 5, "g");
  timeline.seal();
  EXPECT_FALSE(timeline.line_at(id, 101));
  EXPECT_EQ(timeline.line_at(id, 102)->line, 1U);
  EXPECT_EQ(timeline.line_at(id, 109)->file, "a.c");
  EXPECT_EQ(timeline.line_at(id, 119)->line, 4U);
  EXPECT_FALSE(timeline.line_at(id, 120));
  EXPECT_FALSE(timeline.line_at(id, 95));
  EXPECT_FALSE(timeline.line_at(none, 205));
}

TEST(Timeline, LinesToldWhenItIsLoggedAgain) {
  Timeline timeline;
  const TimedLine one[] = {{100, 1, "a.c"}};
  const TimedLine two[] = {{100, 2, "a.c"}};
  const BodyId first = timeline.add(100, 20, 5, 5, "f");
  timeline.add(100, 20, 6, 6, "f", one);
  timeline.add(100, 20, 7, 7, "f", one);
  const BodyId other = timeline.add(100, 20, 8, 8, "f", two);
  timeline.seal();
  EXPECT_EQ(timeline.at(105, 7).body, first);
  EXPECT_EQ(timeline.line_at(first, 105)->line, 1U);
  EXPECT_EQ(timeline.at(105, 8).body, other);  // another code with other lines
  EXPECT_EQ(timeline.line_at(other, 105)->line, 2U);
}

TEST(Timeline, SizesThatMakeNoSense) {
  Timeline timeline;
  const BodyId empty = timeline.add(100, 0, 5, 5, "empty");
  timeline.add(UINT64_MAX - 10, UINT64_MAX, 5, 5, "wraps");
  timeline.add(50, 10, 9, 5, "since later than from");
  timeline.gone(UINT64_MAX, UINT64_MAX, 6);
  timeline.move(UINT64_MAX - 3, UINT64_MAX - 1, UINT64_MAX, 3);
  timeline.seal();
  EXPECT_EQ(at(timeline, 100, 5), "");
  EXPECT_EQ(timeline.body(empty).name, "empty");
  EXPECT_EQ(at(timeline, UINT64_MAX - 5, 6), "wraps");
  EXPECT_EQ(at(timeline, 0, 6), "");
  EXPECT_EQ(timeline.body(2).since, 5U);
  EXPECT_EQ(timeline.body(2).from, 5U);
}

TEST(Timeline, EmptyAndSealedAgain) {
  Timeline timeline;
  EXPECT_EQ(at(timeline, 5, 5), "");
  timeline.seal();
  EXPECT_EQ(at(timeline, 5, 5), "");
  EXPECT_EQ(any(timeline, 5), "");
  EXPECT_EQ(timeline.first_time(), 0U);
  timeline.add(0, 10, 5, 5, "f");
  timeline.move(0, 20, 10, 8);
  timeline.seal();
  EXPECT_EQ(at(timeline, 25, 9), "f");
  timeline.add(20, 10, 9, 9, "g");
  timeline.add(0, 10, 2, 2, "e");
  timeline.seal();
  EXPECT_EQ(at(timeline, 5, 4), "e");
  EXPECT_EQ(at(timeline, 5, 5), "f");
  EXPECT_EQ(at(timeline, 25, 8), "f");
  EXPECT_EQ(at(timeline, 25, 9), "g");
  EXPECT_EQ(timeline.size(), 4U);  // three added, one moved
  const Timeline moved = std::move(timeline);
  EXPECT_EQ(at(moved, 25, 9), "g");
}

}  // namespace
}  // namespace jitscope
