// An image that nobody uses any more gives its place to the next one; any other does not.
#include "probe/idle_image.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "probe/image_lock.h"
#include "probe/trampolines.h"
#include "probe/undo.h"
#include "tests/unit/probe/live_target.h"

namespace jitscope {
namespace {

class IdleImageTest : public test::LiveTargetTest {
 protected:
  std::unique_ptr<Trampolines> prepared() {
    auto trampolines = std::make_unique<Trampolines>(*process_);
    const Status status =
        trampolines->prepare(target_->address(), target_->address(target_->size()));
    EXPECT_TRUE(status) << to_string(status.error());
    return trampolines;
  }
  void place(Trampolines& trampolines, size_t first, size_t count) {
    std::vector<SiteRequest> requests;
    for (size_t i = first; i < first + count; ++i) {
      requests.push_back({static_cast<uint32_t>(i), body(i, "f" + std::to_string(i)), 0});
    }
    const auto outcomes = trampolines.place(requests, {});
    ASSERT_TRUE(outcomes) << to_string(outcomes.error());
    for (const SiteOutcome& each : *outcomes) EXPECT_TRUE(each.placed) << each.reason;
  }
  // A run from its beginning to its end: where its image lay.
  uint64_t run() {
    auto trampolines = prepared();
    place(*trampolines, 0, 4);
    EXPECT_EQ(target_->call_each(entry(0), stride, 4, 10), 40U);
    EXPECT_EQ(trampolines->withdraw().value_or(0), 4U);
    trampolines->unlink_file();
    return trampolines->base();
  }
  // Images that are mapped, and the bytes that they take.
  [[nodiscard]] std::vector<uint64_t> images() const {
    std::vector<uint64_t> lengths;
    const auto maps = process_->maps();
    EXPECT_TRUE(maps);
    for (const MappedImage& image : find_mapped_images(*process_, *maps)) {
      lengths.push_back(image.length);
    }
    return lengths;
  }
};

TEST_F(IdleImageTest, AnyNumberOfRunsTakesTheSpaceOfOne) {
  const uint64_t first = run();
  const auto before = images();
  ASSERT_EQ(before.size(), 1U);
  EXPECT_LT(before[0], 1U << 20U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(), first);
  EXPECT_EQ(images(), before);
  EXPECT_TRUE(untouched());
}

TEST_F(IdleImageTest, TwoAtOnceHaveAnImageEach) {
  auto one = prepared();
  place(*one, 0, 2);
  auto other = prepared();
  EXPECT_NE(one->base(), other->base());
  place(*other, 2, 2);
  EXPECT_EQ(one->withdraw().value_or(0), 2U);
  EXPECT_TRUE(is_jump(2));
  EXPECT_EQ(target_->call_each(entry(0), stride, 4, 10), 40U);
  EXPECT_EQ(other->withdraw().value_or(0), 2U);
  one->unlink_file();
  other->unlink_file();
  one.reset();
  other.reset();
  const auto before = images();
  EXPECT_EQ(before.size(), 2U);
  for (int i = 0; i < 5; ++i) run();
  EXPECT_EQ(images(), before);
  EXPECT_TRUE(untouched());
}

TEST_F(IdleImageTest, WhatAKilledRunLeftStaysUntilItIsUndone) {
  uint64_t left = 0;
  {
    auto killed = prepared();
    place(*killed, 0, 2);
    left = killed->base();
  }
  auto next = prepared();
  EXPECT_NE(next->base(), left);
  place(*next, 2, 1);
  EXPECT_EQ(target_->call_each(entry(0), stride, 4, 10), 40U);
  EXPECT_EQ(next->withdraw().value_or(0), 1U);
  next->unlink_file();
  next.reset();
  const auto undone = undo_all(*process_);
  ASSERT_TRUE(undone) << to_string(undone.error());
  EXPECT_TRUE(undone->complete());
  EXPECT_EQ(undone->entries_restored, 2U);
  EXPECT_EQ(undone->files_removed, 1U);
  const auto before = images();
  EXPECT_EQ(before.size(), 2U);
  for (int i = 0; i < 5; ++i) run();
  EXPECT_EQ(images(), before);
  EXPECT_TRUE(untouched());
}

TEST_F(IdleImageTest, AThreadThatWillComeBackKeepsItsSlot) {
  const uint64_t first = run();
  target_->keep_on_stack(first + live_image_length(8192, 0) + 4);
  const uint64_t second = run();
  EXPECT_NE(second, first);
  EXPECT_EQ(run(), second);
  target_->keep_on_stack(0);
  const auto before = images();
  EXPECT_EQ(before.size(), 2U);
  run();
  EXPECT_EQ(images(), before);
}

TEST_F(IdleImageTest, OnlyWhatNobodyElseCanWriteIsOurs) {
  uint64_t base = 0;
  std::string file;
  {
    auto trampolines = prepared();
    base = trampolines->base();
    file = trampolines->file_here();  // and its name stays
  }
  const auto found = [&] {
    const auto maps = process_->maps();
    EXPECT_TRUE(maps);
    const auto idle = find_idle_images(*process_, *maps, target_->address(), target_->address(64),
                                       4096, 1U << 30U);
    return !idle.empty() && idle.front().address() == base;
  };
  EXPECT_TRUE(found());
  ASSERT_EQ(::chmod(file.c_str(), 0775), 0);
  EXPECT_FALSE(found());
  ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(found());
  ASSERT_EQ(::chown(file.c_str(), 0, 0), 0);
  EXPECT_TRUE(found());
  // Out of reach of other code.
  const auto maps = process_->maps();
  ASSERT_TRUE(maps);
  EXPECT_TRUE(find_idle_images(*process_, *maps, base + (3ULL << 30U), base + (3ULL << 30U) + 64,
                               4096, 1U << 30U)
                  .empty());
  std::filesystem::remove(file);
}

TEST_F(IdleImageTest, AnImageThatGrewKeepsItsLength) {
  make(5000);
  auto large = prepared();
  const uint64_t at_first = large->length();
  place(*large, 0, 5000);
  EXPECT_GT(large->length(), at_first);
  EXPECT_EQ(target_->call_each(entry(0), stride, 5000, 1), 5000U);
  EXPECT_EQ(large->withdraw().value_or(0), 5000U);
  large->unlink_file();
  const uint64_t base = large->base();
  const uint64_t length = large->length();
  large.reset();
  EXPECT_EQ(images(), std::vector<uint64_t>{length});
  EXPECT_EQ(run(), base);
  EXPECT_EQ(images(), std::vector<uint64_t>{length});
}

TEST(ImageLock, OnlyAWriterHoldsIt) {
  std::string name = testing::TempDir() + "/image-lock-XXXXXX";
  const UniqueFd holder(::mkstemp(name.data()));
  const UniqueFd reader(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(holder && reader);
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  ASSERT_EQ(::fcntl(reader.get(), F_OFD_SETLK, &lock), 0);
  const UniqueFd looker(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(image_is_held(looker.get()));
  lock.l_type = F_UNLCK;
  ASSERT_EQ(::fcntl(reader.get(), F_OFD_SETLK, &lock), 0);
  ASSERT_TRUE(hold_image(holder.get()));
  EXPECT_TRUE(image_is_held(looker.get()));
  lock.l_type = F_RDLCK;
  EXPECT_NE(::fcntl(reader.get(), F_OFD_SETLK, &lock), 0);
  ::unlink(name.c_str());
}

}  // namespace
}  // namespace jitscope
