// Scopes that are kept encoded, and what they say of an offset.
#include "naming/dump_scopes.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

CodeScopes scopes() {
  CodeScopes out;
  out.methods = {{"p.A.a()", "p/A.java"}, {"p.B.b()", "p/B.java"}};
  out.scopes = {{CodeScopes::kNone, 0, 1, 10}, {0, 1, 3, 21}};
  out.ranges = {{0x10, 0x20, 0, false}, {0x20, 0x28, 1, false}, {0x30, 0x40, 0, false}};
  return out;
}

TEST(DumpScopes, DecodesWhatIsAskedFor) {
  std::string payload;
  jitdump::encode_scopes(payload, scopes());
  DumpScopes all;
  EXPECT_TRUE(all.empty());
  all.add(3, std::as_bytes(std::span<const char>(payload)));
  all.add(4, {});
  const std::string damaged = payload.substr(0, payload.size() / 2);
  all.add(5, std::as_bytes(std::span<const char>(damaged)));
  ASSERT_NE(all.of(3, 0x40), nullptr);
  EXPECT_EQ(*all.of(3, 0x40), scopes());
  EXPECT_EQ(all.of(3, 0x40), all.of(3, 0x40));
  EXPECT_EQ(all.of(4, 0x40), nullptr);
  EXPECT_EQ(all.of(5, 0x40), nullptr);
  EXPECT_EQ(all.of(6, 0x40), nullptr);
}

TEST(DumpScopes, ChainsWithTheirReach) {
  const CodeScopes inside = scopes();
  const ScopeChain before = chain_at(inside, 0x5);
  EXPECT_TRUE(before.places.empty());
  EXPECT_EQ(before.low, 0U);
  EXPECT_EQ(before.high, 0xfU);

  const ScopeChain own = chain_at(inside, 0x10);
  ASSERT_EQ(own.places.size(), 1U);
  EXPECT_EQ(own.places[0]->line, 10U);
  EXPECT_EQ(own.low, 0x10U);
  EXPECT_EQ(own.high, 0x1fU);

  const ScopeChain inlined = chain_at(inside, 0x27);
  ASSERT_EQ(inlined.places.size(), 2U);
  EXPECT_EQ(inlined.scope, 1U);
  EXPECT_EQ(inlined.places[0]->line, 21U);
  EXPECT_EQ(inlined.places[1]->line, 10U);

  const ScopeChain gap = chain_at(inside, 0x28);
  EXPECT_TRUE(gap.places.empty());
  EXPECT_EQ(gap.low, 0x28U);
  EXPECT_EQ(gap.high, 0x2fU);

  const ScopeChain after = chain_at(inside, 0x40);
  EXPECT_TRUE(after.places.empty());
  EXPECT_EQ(after.low, 0x40U);
  EXPECT_EQ(after.high, UINT64_MAX);
}

}  // namespace
}  // namespace jitscope
