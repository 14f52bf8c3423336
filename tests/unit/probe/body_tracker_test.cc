// What the tracker reports of bodies that come, go, come back, and cannot be dealt with yet.
#include "probe/body_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "base/clock.h"
#include "tests/unit/probe/fake_source.h"
#include "tests/unit/process/target_program.h"

namespace jitscope {
namespace {

using test::code_body;
using test::FakeSource;
using test::method_name;
using testing::ElementsAre;
using testing::HasSubstr;

const auto watched = method_name("T", "watched");
const auto other = method_name("U", "other");

}  // namespace

namespace test {
class ScratchFile {
 public:
  ScratchFile() {
    std::string pattern = ::testing::TempDir() + "map_XXXXXX";
    const int fd = ::mkstemp(pattern.data());
    if (fd >= 0) ::close(fd);
    path_ = pattern;
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }
  void append(std::string_view text) const { std::ofstream(path_, std::ios::app) << text; }

 private:
  std::string path_;
};
}  // namespace test

namespace {

class BodyTrackerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto process = Process::open(::getpid());
    ASSERT_TRUE(process);
    process_.emplace(std::move(*process));
    source_.bodies = {code_body(0x1000, watched), code_body(0x2000, other)};
  }
  void start(const std::string& pattern = "T.*", size_t most = 100) {
    auto patterns = parse_patterns({pattern});
    ASSERT_TRUE(patterns);
    tracker_.emplace(*process_, source_, MethodSet(std::move(*patterns), most));
    const Status status = tracker_->start(notes_);
    ASSERT_TRUE(status) << to_string(status.error());
  }
  // Addresses that appeared; what is gone goes to gone_.
  std::vector<uint64_t> look() {
    auto change = tracker_->look();
    EXPECT_TRUE(change);
    std::vector<uint64_t> appeared;
    gone_.clear();
    if (!change) return appeared;
    for (const auto& found : change->appeared) appeared.push_back(found.body.address);
    for (const auto& [address, version] : change->gone) gone_.push_back(address);
    return appeared;
  }

  std::optional<Process> process_;
  FakeSource source_;
  std::optional<BodyTracker> tracker_;
  std::vector<std::string> notes_;
  std::vector<uint64_t> gone_;
};

TEST_F(BodyTrackerTest, ABodyIsReportedOnceAndOnceAsGone) {
  start();
  EXPECT_THAT(look(), ElementsAre(0x1000));
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_EQ(tracker_->alive(0), 1U);
  source_.bodies.push_back(code_body(0x3000, watched, 2));
  EXPECT_THAT(look(), ElementsAre(0x3000));
  EXPECT_EQ(tracker_->alive(0), 2U);
  source_.bodies.erase(source_.bodies.begin());
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_THAT(gone_, ElementsAre(0x1000));
  EXPECT_EQ(tracker_->alive(0), 1U);
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_THAT(gone_, ElementsAre());
}

TEST_F(BodyTrackerTest, ABodyIsNotOlderThanTheLastLookWithoutIt) {
  start();
  const auto first = tracker_->look();
  ASSERT_TRUE(first);
  ASSERT_EQ(first->appeared.size(), 1U);
  EXPECT_EQ(first->appeared[0].not_before_ns, 0U);
  const uint64_t before = monotonic_ns();
  ASSERT_TRUE(tracker_->look());
  const uint64_t after = monotonic_ns();
  source_.bodies.push_back(code_body(0x3000, watched, 2));
  const auto later = tracker_->look();
  ASSERT_TRUE(later);
  ASSERT_EQ(later->appeared.size(), 1U);
  EXPECT_GE(later->appeared[0].not_before_ns, before);
  EXPECT_LE(later->appeared[0].not_before_ns, after);
}

TEST_F(BodyTrackerTest, AWriteToTheMapAsksForALook) {
  const test::ScratchFile map;
  source_.map = map.path();
  start();
  look();
  EXPECT_TRUE(notes_.empty());
  EXPECT_FALSE(tracker_->due());
  map.append("1000 10 f\n");
  // At once: long before the clock would ask.
  EXPECT_TRUE(eventually([&] { return tracker_->due(); }));
  const uint64_t quiet = monotonic_ns();
  source_.bodies.push_back(code_body(0x3000, watched, 2));
  const auto change = tracker_->look();
  ASSERT_TRUE(change);
  ASSERT_EQ(change->appeared.size(), 1U);
  EXPECT_GT(change->appeared[0].not_before_ns, 0U);
  EXPECT_LE(change->appeared[0].not_before_ns, quiet);
}

TEST_F(BodyTrackerTest, AWriteToTheMapWakesWhoWaits) {
  const test::ScratchFile map;
  source_.map = map.path();
  start();
  look();
  EXPECT_FALSE(tracker_->due());
  const std::vector<int> fds = tracker_->wake_fds();
  ASSERT_EQ(fds.size(), 1U);
  pollfd handle = {fds[0], POLLIN, 0};
  EXPECT_EQ(::poll(&handle, 1, 0), 0);
  map.append("1000 10 f\n");
  EXPECT_EQ(::poll(&handle, 1, 10'000), 1);
  EXPECT_TRUE(eventually([&] { return tracker_->due(); }));
  // It was told of: nothing more waits, and for a moment it is asked often.
  EXPECT_EQ(::poll(&handle, 1, 0), 0);
  look();
  EXPECT_LT(tracker_->pause().count(), 250);
  EXPECT_EQ(tracker_->looks(), 1U);
}

TEST_F(BodyTrackerTest, WithoutNewsPausesGrow) {
  start();
  look();
  EXPECT_LE(tracker_->shortest_pause(), tracker_->pause());
  EXPECT_TRUE(eventually([&] { return tracker_->pause().count() == 250; }));
  tracker_->look_soon();
  EXPECT_EQ(tracker_->pause(), tracker_->shortest_pause());
}

TEST_F(BodyTrackerTest, TheFirstLookUsesTheFirstReading) {
  start();
  EXPECT_EQ(source_.reads, 1U);
  look();
  EXPECT_EQ(source_.reads, 1U);
  look();
  EXPECT_EQ(source_.reads, 2U);
}

TEST_F(BodyTrackerTest, AnotherVersionAtTheSameAddressIsAnotherBody) {
  start();
  look();
  source_.bodies[0].version = 2;
  EXPECT_THAT(look(), ElementsAre(0x1000));
  EXPECT_THAT(gone_, ElementsAre(0x1000));
}

TEST_F(BodyTrackerTest, ABodyThatCallsDoNotEnterIsGone) {
  for (const auto& spoil : std::vector<std::function<void(CodeBody&)>>{
           [](CodeBody& body) { body.state = BodyState::not_entrant; },
           [](CodeBody& body) { body.state = BodyState::dead; },
           [](CodeBody& body) { body.osr = true; },
           [](CodeBody& body) { body.tier = Tier::bytecode; }}) {
    source_.bodies = {code_body(0x1000, watched)};
    start();
    look();
    EXPECT_TRUE(entered_by_calls(source_.bodies[0]));
    spoil(source_.bodies[0]);
    EXPECT_FALSE(entered_by_calls(source_.bodies[0]));
    EXPECT_THAT(look(), ElementsAre());
    EXPECT_THAT(gone_, ElementsAre(0x1000));
    EXPECT_EQ(tracker_->alive(0), 0U);
  }
}

TEST_F(BodyTrackerTest, WhatCannotBeProbedYetIsOfferedAtEveryLook) {
  source_.bodies[0].not_probeable = "not installed yet";
  start();
  EXPECT_THAT(look(), ElementsAre(0x1000));
  EXPECT_THAT(look(), ElementsAre(0x1000));
  EXPECT_EQ(tracker_->alive(0), 1U);
  source_.bodies[0].not_probeable.clear();
  EXPECT_THAT(look(), ElementsAre(0x1000));
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_THAT(gone_, ElementsAre());
}

TEST_F(BodyTrackerTest, RetryOffersABodyAgainButNotForEver) {
  start();
  EXPECT_THAT(look(), ElementsAre(0x1000));
  EXPECT_FALSE(tracker_->due());
  tracker_->retry(source_.bodies[0]);
  EXPECT_TRUE(eventually([&] { return tracker_->due(); }));
  size_t offered = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto appeared = look();
    if (appeared.empty()) break;
    ++offered;
    tracker_->retry(source_.bodies[0]);
  }
  EXPECT_GE(offered, 10U);
  EXPECT_LT(offered, 200U);
  EXPECT_THAT(gone_, ElementsAre());
  // A new version begins anew.
  source_.bodies[0].version = 2;
  EXPECT_THAT(look(), ElementsAre(0x1000));
  tracker_->retry(source_.bodies[0]);
  EXPECT_THAT(look(), ElementsAre(0x1000));
}

// As long as another program holds the target: that it does nothing itself says nothing.
TEST_F(BodyTrackerTest, WhatIsOfferedAgainIsLookedAtThoughTheProcessSleeps) {
  const test::ScratchFile map;
  source_.map = map.path();
  start();
  EXPECT_THAT(look(), ElementsAre(0x1000));
  tracker_->offer_again(source_.bodies[0]);
  const uint64_t began = monotonic_ns();
  ASSERT_TRUE(eventually([&] { return tracker_->due(); }));
  EXPECT_LT(monotonic_ns() - began, 15'000'000'000U) << "long before the look that always comes";
  EXPECT_THAT(look(), ElementsAre(0x1000));
}

TEST_F(BodyTrackerTest, ARetriedBodyThatVanishesIsForgotten) {
  start();
  look();
  tracker_->retry(source_.bodies[0]);
  source_.bodies.clear();
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_EQ(tracker_->alive(0), 0U);
}

TEST_F(BodyTrackerTest, NewMethodsAreTakenInWhileThereIsRoom) {
  start("T.*", 2);
  look();
  source_.bodies.push_back(code_body(0x5000, method_name("T", "second")));
  source_.bodies.push_back(code_body(0x6000, method_name("T", "third")));
  EXPECT_THAT(look(), ElementsAre(0x5000));
  EXPECT_EQ(tracker_->methods().size(), 2U);
  EXPECT_TRUE(tracker_->methods().full());
  EXPECT_EQ(tracker_->alive(1), 1U);
  EXPECT_EQ(tracker_->alive(7), 0U);
}

TEST_F(BodyTrackerTest, ASourceThatFailsIsAskedAgainLater) {
  start();
  look();
  source_.broken = Error{ErrorKind::damaged, "torn", {}, {}, 0};
  EXPECT_TRUE(eventually([&] { return tracker_->due(); }));
  EXPECT_FALSE(tracker_->look());
  EXPECT_FALSE(tracker_->due());  // not at once
  source_.broken.reset();
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_THAT(gone_, ElementsAre());
  EXPECT_EQ(tracker_->alive(0), 1U);
}

TEST_F(BodyTrackerTest, MethodsThatAreOnlyLoadedAreWatchedToo) {
  source_.bodies = {code_body(0x2000, other)};
  source_.loaded = {watched};
  start();
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_EQ(tracker_->methods().size(), 1U);
  source_.bodies.push_back(code_body(0x1000, method_name("T", "watched")));
  EXPECT_THAT(look(), ElementsAre(0x1000));
}

TEST_F(BodyTrackerTest, StartSaysWhatDidNotMatch) {
  auto patterns = parse_patterns({"T.*", "no.such"});
  ASSERT_TRUE(patterns);
  tracker_.emplace(*process_, source_, MethodSet(std::move(*patterns), 100));
  ASSERT_TRUE(tracker_->start(notes_));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("'no.such'")));
  EXPECT_FALSE(tracker_->follows_loads());
  auto none = parse_patterns({"no.such"});
  tracker_.emplace(*process_, source_, MethodSet(std::move(*none), 100));
  EXPECT_FALSE(tracker_->start(notes_));
}

}  // namespace
}  // namespace jitscope
