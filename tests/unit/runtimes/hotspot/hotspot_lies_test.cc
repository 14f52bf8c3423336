// JVMs that lie about themselves: lists without an end, counts that nothing backs, names that all
// lead to one huge text. Reading them ends, in bounded memory, and says what it left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/work_limit.h"
#include "fake_jvm.h"
#include "runtimes/hotspot/hotspot_reader.h"

namespace jitscope::hotspot::test {
namespace {

using Style = FakeJvm::Style;

class HotspotLies : public testing::TestWithParam<Style> {
 protected:
  HotspotLies() : jvm(GetParam()) {}
  HotspotReader open() {
    auto reader = HotspotReader::open(jvm, jvm.symbols(), CallConvention::hotspot_x86_64);
    EXPECT_TRUE(reader) << to_string(reader.error());
    return std::move(*reader);
  }

  FakeJvm jvm;
  Diagnostics diagnostics;
};

INSTANTIATE_TEST_SUITE_P(Layouts, HotspotLies, testing::Values(Style::pointers, Style::offsets),
                         [](const auto& tested) {
                           return tested.param == Style::pointers ? "pointers" : "offsets";
                         });

TEST_P(HotspotLies, ListsThatLeadBackToTheirBeginningEnd) {
  jvm.add_class("a/B", {{"run", "()V"}});
  jvm.close_lists();
  auto reader = open();
  const auto methods = reader.loaded_methods(jvm, diagnostics);
  ASSERT_TRUE(methods) << to_string(methods.error());
  EXPECT_EQ(methods->size(), 1U);
}

TEST_P(HotspotLies, ManyBodiesOfOneMethodWithOneHugeNameAreBounded) {
  // 256 bodies, each of whose names is 180 KB: kept as often as there is room for them.
  const std::string huge(60'000, 'n');
  const uint64_t method = jvm.add_class(huge, {{huge, "(L" + huge + ";)V"}}).front();
  jvm.fill_heap_with(jvm.add_nmethod({.method = method}));
  auto reader = open();
  const auto snapshot = reader.read(jvm, diagnostics);
  ASSERT_TRUE(snapshot) << to_string(snapshot.error());
  uint64_t bytes = 0;
  for (const CodeBody& body : snapshot->bodies) bytes += body.name->raw.size();
  EXPECT_EQ(snapshot->bodies.size(), FakeJvm::kSegments / FakeJvm::kBlobSegments);
  EXPECT_LT(bytes, 256U << 20U);
}

TEST_P(HotspotLies, AMapOfSegmentsThatChangesWhileItIsReadGivesNoBody) {
  const uint64_t method = jvm.add_class("a/B", {{"run", "()V"}}).front();
  jvm.add_nmethod({.method = method});
  auto reader = open();
  jvm.before_read = [&](uint64_t address) {
    // One block becomes two between the reading of its header and that of the map.
    if (address == FakeJvm::kSegmentMap) jvm.put(FakeJvm::kSegmentMap + 1, uint8_t{0});
  };
  const auto snapshot = reader.read(jvm, diagnostics);
  ASSERT_TRUE(snapshot) << to_string(snapshot.error());
  EXPECT_EQ(snapshot->bodies.size(), 0U) << "the map and the block's length contradict each other";
  EXPECT_GT(snapshot->torn, 0U);
}

TEST_P(HotspotLies, WhenTheTimeIsOverNothingLooksAsIfItWereGone) {
  const uint64_t method = jvm.add_class("a/B", {{"run", "()V"}}).front();
  jvm.add_nmethod({.method = method});
  auto reader = open();
  {
    const WorkLimit over{std::chrono::nanoseconds(0)};
    const auto snapshot = reader.read(jvm, diagnostics);
    ASSERT_FALSE(snapshot);
    EXPECT_THAT(to_string(snapshot.error()), testing::HasSubstr("took too long"));
    EXPECT_FALSE(reader.loaded_methods(jvm, diagnostics));
  }
  const auto snapshot = reader.read(jvm, diagnostics);
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->bodies.size(), 1U);
}

}  // namespace
}  // namespace jitscope::hotspot::test
