#include "inject/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "image/code_image.h"

namespace jitscope {
namespace {

constexpr uint64_t kCode = 0x7f0000000000;

JitCode code_at(uint64_t start, uint64_t size) {
  JitCode code;
  code.start = start;
  code.size = size;
  return code;
}

// Places of one image do not overlap, and leave its head and the tables alone.
void expect_sound(const InjectPlan& plan) {
  for (const PlannedImage& image : plan.images()) {
    std::vector<std::pair<uint64_t, uint64_t>> taken = {{0, kImageHeaderRoom}};
    if (image.anchor_place != 0) {
      taken.emplace_back(image.anchor_place, image.tables_place + image.tables_room);
    }
    for (const uint32_t number : image.codes) {
      taken.emplace_back(plan.code(number).place, plan.code(number).place + plan.code(number).size);
    }
    std::ranges::sort(taken);
    for (size_t i = 1; i < taken.size(); ++i) EXPECT_GE(taken[i].first, taken[i - 1].second);
  }
}

TEST(InjectPlanTest, OneLoadAddressServesWhatDoesNotOverlap) {
  InjectPlan plan(false);
  plan.need(1, code_at(kCode + 0x1234, 0x100), 7);
  plan.need(2, code_at(kCode + 0x9000, 0x40), 7);
  const uint32_t later = plan.need(3, code_at(kCode + 0x1200, 0x80), 7);
  EXPECT_EQ(plan.need(1, code_at(kCode + 0x1234, 0x100), 7), 0U);
  plan.settle();
  expect_sound(plan);
  ASSERT_EQ(plan.images().size(), 1U);
  const PlannedImage& image = plan.images()[0];
  ASSERT_TRUE(image.sparse);
  EXPECT_EQ(image.base % 4096, 0U);
  EXPECT_EQ(plan.code(0).place + image.base, kCode + 0x1234);
  EXPECT_EQ(plan.code(1).place + image.base, kCode + 0x9000);
  EXPECT_TRUE(plan.code(later).packed);
  EXPECT_EQ(plan.code(later).place % 4096, (kCode + 0x1200) % 4096);
}

TEST(InjectPlanTest, AnImageForEachProcess) {
  InjectPlan plan(false);
  plan.need(1, code_at(kCode, 16), 7);
  plan.need(2, code_at(kCode, 16), 8);
  EXPECT_EQ(plan.images().size(), 2U);
}

TEST(InjectPlanTest, UnwindersGetAnImageForEachTimeAnAddressIsUsed) {
  InjectPlan plan(true);
  plan.mapped(kCode, kCode + 0x10000);
  plan.mapped(kCode - 0x3000, kCode - 0x2000);
  plan.need(1, code_at(kCode + 0x1000, 0x100), 7);
  plan.need(2, code_at(kCode + 0x1080, 0x100), 7);
  plan.settle();
  expect_sound(plan);
  ASSERT_EQ(plan.images().size(), 2U);
  for (const PlannedImage& image : plan.images()) {
    ASSERT_NE(image.tables_place, 0U);
    // Nothing else is there in the process, and it is the first of the image.
    const uint64_t from = image.base + image.anchor_place;
    const uint64_t to = image.base + image.tables_place + image.tables_room;
    EXPECT_TRUE(to <= kCode - 0x3000 || from >= kCode + 0x10000 ||
                (from >= kCode - 0x2000 && to <= kCode));
    EXPECT_LT(to, kCode + 0x1000);
  }
  // Each in a hole of its own.
  EXPECT_NE(plan.images()[0].base, plan.images()[1].base);
}

TEST(InjectPlanTest, CodeThatIsFarAwayIsPacked) {
  InjectPlan plan(false);
  plan.need(1, code_at(0x10000, 0x100), 7);
  plan.need(2, code_at(kCode, 0x100), 7);
  plan.settle();
  expect_sound(plan);
  EXPECT_TRUE(plan.code(1).packed);
  EXPECT_LT(plan.code(1).place, uint64_t{1} << 20U);
}

TEST(InjectPlanTest, FewBytesOnManyPagesArePacked) {
  InjectPlan plan(false);
  constexpr uint32_t count = 20'000;
  for (uint32_t i = 0; i < count; ++i) plan.need(i + 1, code_at(kCode + i * 6144ULL, 512), 7);
  plan.settle();
  expect_sound(plan);
  EXPECT_FALSE(plan.images()[0].sparse);
  uint64_t end = 0;
  for (const PlannedCode& code : plan.codes()) end = std::max(end, code.place + code.size);
  EXPECT_LT(end, 2 * count * 512ULL);
}

TEST(InjectPlanTest, ImpossibleAddressesAndSizesDoNoHarm) {
  for (const bool tables : {false, true}) {
    InjectPlan plan(tables);
    plan.mapped(0, UINT64_MAX);
    plan.mapped(5, 3);
    plan.need(1, code_at(0, UINT64_MAX), 7);
    plan.need(2, code_at(UINT64_MAX - 1, UINT64_MAX), 7);
    plan.need(3, code_at(1, 0), 7);
    plan.need(4, code_at(kCode, UINT64_MAX), 7);
    plan.settle();
    expect_sound(plan);
  }
}

TEST(InjectPlanTest, AnyCodeHasAPlaceOfItsOwn) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    InjectPlan plan(round % 2 == 0);
    const uint64_t spread = uint64_t{1} << (8 + random() % 28);
    for (uint32_t i = 0; i < 150; ++i) {
      const uint64_t start = kCode + random() % spread;
      plan.mapped(start & ~uint64_t{4095}, (start & ~uint64_t{4095}) + 8192);
      plan.need(i + 1, code_at(start, 1 + random() % 700), 1 + static_cast<uint32_t>(random() % 3));
    }
    plan.settle();
    expect_sound(plan);
  }
}

}  // namespace
}  // namespace jitscope
