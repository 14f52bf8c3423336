#include "capture/known_bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace jitscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kLargest = 1U << 20U;

CodeBody body(uint64_t address, uint64_t size, const std::string& name, uint64_t version = 0) {
  CodeBody out;
  out.address = address;
  out.size = size;
  out.version = version;
  MethodName method;
  method.raw = name;
  out.name = std::make_shared<const MethodName>(std::move(method));
  return out;
}

std::vector<std::string> names(const KnownBodies::Changes& changes) {
  std::vector<std::string> out;
  for (const CodeBody* each : changes.fresh) out.push_back(each->name->raw);
  return out;
}

TEST(KnownBodies, WhatIsNewAndWhatIsNot) {
  KnownBodies known;
  const Snapshot first{{body(0x100, 16, "a"), body(0x200, 16, "b")}, 0};
  EXPECT_THAT(names(known.update(first, kLargest)), ElementsAre("a", "b"));
  const Snapshot second{{body(0x100, 16, "a"), body(0x180, 16, "c"), body(0x200, 16, "b")}, 0};
  const auto changes = known.update(second, kLargest);
  EXPECT_THAT(names(changes), ElementsAre("c"));
  EXPECT_THAT(changes.gone, IsEmpty());
  EXPECT_EQ(known.size(), 3U);
}

TEST(KnownBodies, WhatIsMissingIsGone) {
  KnownBodies known;
  (void)known.update({{body(0x100, 16, "a"), body(0x200, 24, "b")}, 0}, kLargest);
  const auto changes = known.update({{body(0x100, 16, "a")}, 0}, kLargest);
  EXPECT_THAT(changes.fresh, IsEmpty());
  EXPECT_THAT(changes.gone, ElementsAre(KnownBodies::Gone{0x200, 24}));
}

TEST(KnownBodies, AnotherNameOrSizeAtOnePlaceIsGoneAndNew) {
  KnownBodies known;
  (void)known.update({{body(0x100, 16, "a"), body(0x200, 24, "b")}, 0}, kLargest);
  const Snapshot second{{body(0x100, 16, "other"), body(0x200, 32, "b")}, 0};
  const auto changes = known.update(second, kLargest);
  EXPECT_THAT(names(changes), ElementsAre("other", "b"));
  EXPECT_THAT(changes.gone,
              UnorderedElementsAre(KnownBodies::Gone{0x100, 16}, KnownBodies::Gone{0x200, 24}));
}

TEST(KnownBodies, AfterATornLookOnlyWhatIsCoveredIsGone) {
  KnownBodies known;
  const Snapshot first{
      {body(0x100, 16, "torn"), body(0x200, 512, "old", 1), body(0x600, 16, "beside")}, 0};
  (void)known.update(first, kLargest);
  // The new body has another version, and the old one is told before it.
  Snapshot second{{body(0x200, 576, "new", 2)}, 1};
  auto changes = known.update(second, kLargest);
  EXPECT_THAT(names(changes), ElementsAre("new"));
  EXPECT_THAT(changes.gone, ElementsAre(KnownBodies::Gone{0x200, 512}));
  // The next whole look: "torn" is there again, "beside" is not.
  const Snapshot third{{body(0x100, 16, "torn"), body(0x200, 576, "new", 2)}, 0};
  changes = known.update(third, kLargest);
  EXPECT_THAT(changes.fresh, IsEmpty());
  EXPECT_THAT(changes.gone, ElementsAre(KnownBodies::Gone{0x600, 16}));
}

TEST(KnownBodies, CoveredInPart) {
  KnownBodies known;
  (void)known.update({{body(0x100, 0x20, "before"), body(0x200, 0x20, "cut")}, 0}, kLargest);
  const auto changes = known.update({{body(0x120, 0xE1, "long")}, 1}, kLargest);
  EXPECT_THAT(changes.gone, ElementsAre(KnownBodies::Gone{0x200, 0x20}));
}

TEST(KnownBodies, TooLargeIsSkipped) {
  KnownBodies known;
  const Snapshot snapshot{{body(0x100, kLargest + 1, "huge")}, 0};
  const auto changes = known.update(snapshot, kLargest);
  EXPECT_THAT(changes.fresh, IsEmpty());
  EXPECT_EQ(changes.skipped, 1U);
}

TEST(KnownBodies, Clear) {
  KnownBodies known;
  (void)known.update({{body(0x100, 16, "a"), body(0x200, 24, "b")}, 0}, kLargest);
  EXPECT_THAT(known.clear(), SizeIs(2));
  EXPECT_EQ(known.size(), 0U);
  EXPECT_THAT(known.clear(), IsEmpty());
}

}  // namespace
}  // namespace jitscope
