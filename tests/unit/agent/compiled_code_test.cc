#include "agent/compiled_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jitscope::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kCode = 0x1000;

MethodFacts facts(std::string name, std::string file, std::vector<MethodFacts::Line> lines) {
  return {std::move(name), std::move(file), std::move(lines)};
}

const std::vector<MethodFacts> kMethods = {
    facts("A.outer()", "A.java", {{0, 10}, {8, 11}}),
    facts("B.inner(int)", "p/B.java", {{0, 50}, {4, 51}}),
    facts("C.bare()", "", {}),
};

TEST(CompiledCode, LinesOfBytecodeIndexes) {
  const MethodFacts unsorted = facts("m", "f", {{8, 3}, {0, 1}, {4, 2}, {4, 7}});
  EXPECT_EQ(unsorted.line_at(0), 1U);
  EXPECT_EQ(unsorted.line_at(3), 1U);
  EXPECT_EQ(unsorted.line_at(5), 7U);
  EXPECT_EQ(unsorted.line_at(1000), 3U);
  EXPECT_EQ(unsorted.line_at(-1), 1U);
  EXPECT_EQ(kMethods[2].line_at(0), 0U);
  EXPECT_EQ(facts("m", "f", {{4, 2}}).line_at(1), 0U);
}

TEST(CompiledCode, ChainsHoldUpToTheirPc) {
  CompiledCode code(kCode, 0x40, false);
  const std::vector<Frame> outer = {{0, -1}};
  const std::vector<Frame> inlined = {{1, 4}, {0, 8}};
  code.ends_at(kCode + 0x20, inlined);  // in any order
  code.ends_at(kCode + 0x10, outer);
  const CodeScopes scopes = code.finish(kMethods);
  ASSERT_EQ(scopes.methods.size(), 3U);
  EXPECT_EQ(scopes.methods[0].name, "A.outer()");
  ASSERT_EQ(scopes.ranges.size(), 2U);
  const auto& first = scopes.scopes[scopes.at(0x0f)->scope];
  EXPECT_EQ(first, (CodeScopes::Scope{CodeScopes::kNone, 0, -1, 10}));
  EXPECT_FALSE(scopes.at(0)->exact);
  const auto& leaf = scopes.scopes[scopes.at(0x10)->scope];
  EXPECT_EQ(leaf.method, 1U);
  EXPECT_EQ(leaf.line, 51U);
  EXPECT_EQ(scopes.scopes[leaf.parent], (CodeScopes::Scope{CodeScopes::kNone, 0, 8, 11}));
  EXPECT_EQ(scopes.at(0x20), nullptr) << "behind the last chain nothing is known";
  EXPECT_TRUE(scopes.any_inlined());
}

TEST(CompiledCode, OnePlaceIsOneScopeAndOneRange) {
  CompiledCode code(kCode, 0x40, true);
  const std::vector<Frame> inlined = {{1, 4}, {0, 8}};
  const std::vector<Frame> other = {{1, 0}, {0, 8}};
  code.ends_at(kCode + 0x08, inlined);
  code.ends_at(kCode + 0x10, inlined);
  code.ends_at(kCode + 0x18, other);
  code.ends_at(kCode + 0x18, inlined);  // no code is left for it
  const CodeScopes scopes = code.finish(kMethods);
  EXPECT_EQ(scopes.scopes.size(), 3U);  // the call site, two places in the inlined method
  EXPECT_THAT(scopes.ranges, ElementsAre(CodeScopes::Range{0, 0x10, 1, true},
                                         CodeScopes::Range{0x10, 0x18, 2, true}));
}

TEST(CompiledCode, WhatIsOutsideIsLeftOut) {
  CompiledCode code(kCode, 0x40, false);
  const std::vector<Frame> frame = {{0, 0}};
  for (const uint64_t pc : {uint64_t{0}, kCode - 1, kCode, kCode + 0x41, UINT64_MAX}) {
    code.ends_at(pc, frame);
  }
  code.ends_at(kCode + 0x40, {});
  EXPECT_THAT(code.finish(kMethods).ranges, IsEmpty());
  code.ends_at(kCode + 0x40, frame);
  EXPECT_EQ(code.finish(kMethods).ranges.size(), 1U);
}

TEST(CompiledCode, DeepChainsStaySayable) {
  CompiledCode code(kCode, 0x40, false);
  const std::vector<Frame> deep(1000, Frame{0, 3});
  code.ends_at(kCode + 0x10, deep);
  const CodeScopes scopes = code.finish(kMethods);
  EXPECT_EQ(scopes.scopes.size(), CodeScopes::kDeepest);
  std::string payload;
  jitdump::encode_scopes(payload, scopes);
  const auto again = jitdump::decode_scopes(std::as_bytes(std::span<const char>(payload)), 0x40);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, scopes);
}

TEST(CompiledCode, StartAddressesHoldUpToTheNext) {
  CompiledCode code(kCode, 0x40, false);
  const Frame first{0, 0};
  const Frame second{0, 8};
  code.begins_at(kCode + 0x20, {&second, 1});
  code.begins_at(kCode + 0x10, {&first, 1});
  const CodeScopes scopes = code.finish(kMethods);
  ASSERT_EQ(scopes.ranges.size(), 2U);
  EXPECT_EQ(scopes.ranges[0].begin, 0x10U);
  EXPECT_EQ(scopes.ranges[1].end, 0x40U);
  EXPECT_EQ(scopes.scopes[scopes.ranges[1].scope].line, 11U);
}

std::vector<std::string> told(const CodeScopes& scopes, uint64_t size) {
  std::vector<std::string> out;
  for (const auto& entry : line_entries(scopes, kCode, size)) {
    out.push_back(std::to_string(entry.address - kCode) + " " + std::string(entry.file) + ":" +
                  std::to_string(entry.line));
  }
  return out;
}

TEST(CompiledCode, LineEntriesAreOfTheInnermostPlace) {
  CompiledCode code(kCode, 0x40, false);
  code.ends_at(kCode + 0x10, std::vector<Frame>{{0, 0}});
  code.ends_at(kCode + 0x18, std::vector<Frame>{{1, 0}, {0, 8}});
  code.ends_at(kCode + 0x20, std::vector<Frame>{{1, 1}, {0, 8}});  // the same line
  code.ends_at(kCode + 0x28, std::vector<Frame>{{2, 0}, {0, 8}});  // of which no line is known
  code.ends_at(kCode + 0x30, std::vector<Frame>{{0, 8}});
  const CodeScopes scopes = code.finish(kMethods);
  EXPECT_THAT(told(scopes, 0x40), ElementsAre("0 A.java:10", "16 p/B.java:50", "32 p/B.java:0",
                                              "40 A.java:11", "48 A.java:0"));
  EXPECT_THAT(told(scopes, 0x30).back(), "40 A.java:11") << "nothing lies behind the last range";
}

TEST(CompiledCode, LinesWithoutFileKeepTheLine) {
  CompiledCode code(kCode, 0x10, false);
  code.ends_at(kCode + 0x10, std::vector<Frame>{{0, 0}});
  const std::vector<MethodFacts> methods = {facts("A.m()", "", {{0, 7}})};
  const CodeScopes scopes = code.finish(methods);
  EXPECT_EQ(scopes.methods[0].file, "");
  EXPECT_THAT(told(scopes, 0x10), ElementsAre("0 ?:7"));
}

}  // namespace
}  // namespace jitscope::agent
