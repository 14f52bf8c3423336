#include "runtimes/hotspot/scope_reader.h"

#include <gtest/gtest.h>

#include "scope_stream.h"

namespace jitscope::hotspot::test {
namespace {

constexpr PcDescLayout kLayout{{0, 4, true}, {4, 4, true}, 16};
constexpr uint64_t kOwn = 0x7f0000001000;
constexpr uint64_t kOther = 0x7f0000002000;
constexpr uint64_t kThird = 0x7f0000003000;
constexpr int32_t kCode = 500;

void put32(std::string& out, int32_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(static_cast<uint32_t>(value) >> (8 * i));
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class ScopeReaderTest : public testing::TestWithParam<Unsigned5> {
 protected:
  ScopeReaderTest() : stream(GetParam()) {
    for (const uint64_t method : {kOwn, kOther, kThird, uint64_t{0}, uint64_t{0x1001}}) {
      put32(metadata, static_cast<int32_t>(method & 0xffffffffU));
      put32(metadata, static_cast<int32_t>(method >> 32U));
    }
  }
  [[nodiscard]] Unsigned5 other_form() const {
    return GetParam() == Unsigned5::plain ? Unsigned5::no_zero : Unsigned5::plain;
  }
  void pc(int32_t pc, int32_t scope) {
    for (const int32_t value : {pc, scope, 0, 0}) put32(pcs, value);
  }
  std::optional<DecodedScopes> decode(Unsigned5 form) const {
    return decode_scopes(
        kLayout, {bytes_of(pcs), bytes_of(stream.bytes()), bytes_of(metadata), kOwn, kCode}, form);
  }
  [[nodiscard]] std::optional<DecodedScopes> decode() const { return decode(GetParam()); }

  ScopeStream stream;
  std::string pcs;
  std::string metadata;
};

INSTANTIATE_TEST_SUITE_P(Forms, ScopeReaderTest,
                         testing::Values(Unsigned5::plain, Unsigned5::no_zero),
                         [](const auto& tested) {
                           return tested.param == Unsigned5::plain ? "plain" : "no_zero";
                         });

TEST_P(ScopeReaderTest, ChainsAndRanges) {
  const int32_t own = stream.scope(0, 1, 7);
  const int32_t inner = stream.scope(own, 2, 300);
  const int32_t innermost = stream.scope(inner, 3, 0);
  pc(-1, 0);
  pc(20, own);
  pc(32, innermost);
  pc(40, 0);  // nothing is known up to here
  pc(64, inner);
  pc(kCode + 1, 0);
  const auto decoded = decode();
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->pc_descs, 4U);
  const std::vector<CodeScopes::Range> ranges = {
      {0, 20, 0, false}, {20, 32, 2, false}, {40, 64, 1, false}};
  EXPECT_EQ(decoded->ranges, ranges);
  ASSERT_EQ(decoded->scopes.size(), 3U);
  EXPECT_EQ(decoded->scopes[0].parent, CodeScopes::kNone);
  EXPECT_EQ(decoded->scopes[0].method, kOwn);
  EXPECT_EQ(decoded->scopes[0].bci, 7);
  EXPECT_EQ(decoded->scopes[1].parent, 0U);
  EXPECT_EQ(decoded->scopes[1].method, kOther);
  EXPECT_EQ(decoded->scopes[1].bci, 300);
  EXPECT_EQ(decoded->scopes[2].parent, 1U);
  EXPECT_EQ(decoded->scopes[2].method, kThird);
}

TEST_P(ScopeReaderTest, AStreamInTheOtherFormDoesNotPass) {
  const int32_t own = stream.scope(0, 1, 7);
  const int32_t inner = stream.scope(own, 2, 300);
  pc(20, own);
  pc(24, inner);
  EXPECT_TRUE(decode());
  EXPECT_FALSE(decode(other_form()));
}

TEST_P(ScopeReaderTest, EntryAndSpecialIndices) {
  pc(20, stream.scope(0, 1, -1));
  pc(30, stream.scope(0, 1, -6));
  const auto decoded = decode();
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->scopes[0].bci, -1);
  EXPECT_EQ(decoded->scopes[1].bci, -6);
  pc(40, stream.scope(0, 1, -100));
  EXPECT_FALSE(decode());
}

TEST_P(ScopeReaderTest, NoBytecodeIsAsLarge) {
  pc(20, stream.scope(0, 1, 65536));
  EXPECT_FALSE(decode());
}

TEST_P(ScopeReaderTest, EveryChainEndsInTheBodysOwnMethod) {
  pc(20, stream.scope(0, 2, 7));
  EXPECT_FALSE(decode());
}

TEST_P(ScopeReaderTest, MethodsThatAreNone) {
  for (const uint32_t number : {0U, 4U, 5U, 6U, 0x7fffffffU}) {
    pcs.clear();
    const int32_t own = stream.scope(0, 1, 7);
    pc(20, stream.scope(own, number, 7));
    EXPECT_FALSE(decode()) << number;
  }
}

TEST_P(ScopeReaderTest, ACallersScopeLiesBeforeItsCallees) {
  const auto next = static_cast<int32_t>(stream.bytes().size());
  for (const int32_t caller : {next, next + 1, 0x7fffffff, -1}) {
    ScopeStream loop(GetParam());
    const int32_t scope = loop.scope(caller, 1, 7);
    stream = loop;
    pcs.clear();
    pc(20, scope);
    EXPECT_FALSE(decode()) << caller;
  }
}

TEST_P(ScopeReaderTest, ScopesOutsideTheStream) {
  const int32_t own = stream.scope(0, 1, 7);
  for (const int32_t offset :
       {own + 100, -1, INT32_MAX, INT32_MIN, static_cast<int32_t>(stream.bytes().size())}) {
    pcs.clear();
    pc(20, offset);
    EXPECT_FALSE(decode()) << offset;
  }
}

TEST_P(ScopeReaderTest, OffsetsOfTheCodeRise) {
  const int32_t own = stream.scope(0, 1, 7);
  for (const auto& [first, second] :
       std::vector<std::pair<int32_t, int32_t>>{{20, 20}, {20, 19}, {20, kCode + 1}, {-5, 20}}) {
    pcs.clear();
    pc(first, own);
    pc(second, own);
    EXPECT_FALSE(decode()) << first << " " << second;
  }
  pcs.clear();
  pc(0, own);
  pc(kCode, own);
  const auto decoded = decode();
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->ranges.size(), 1U);
  EXPECT_EQ(decoded->ranges[0].end, static_cast<uint32_t>(kCode));
}

TEST_P(ScopeReaderTest, ChainsOfAHundredCallsAndNoEndlessOnes) {
  int32_t scope = stream.scope(0, 1, 7);
  for (uint32_t i = 1; i < CodeScopes::kDeepest; ++i) scope = stream.scope(scope, 2, 3);
  pc(20, scope);
  const auto decoded = decode();
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->scopes.size(), CodeScopes::kDeepest);
  // One deeper, and of which all but the last are known already.
  pc(30, stream.scope(scope, 2, 3));
  EXPECT_FALSE(decode());
  pcs.clear();
  pc(30, stream.scope(stream.scope(scope, 2, 3), 2, 3));
  EXPECT_FALSE(decode());
}

TEST_P(ScopeReaderTest, NothingIsNoDamage) {
  EXPECT_TRUE(decode());
  pc(-1, 0);
  pc(kCode + 1, 0);
  const auto decoded = decode();
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->ranges.empty());
  EXPECT_EQ(decoded->pc_descs, 0U);
}

TEST_P(ScopeReaderTest, DamageAnywhereIsSurvived) {
  const int32_t own = stream.scope(0, 1, 7);
  const int32_t inner = stream.scope(own, 2, 300);
  pc(-1, 0);
  pc(20, own);
  pc(32, inner);
  pc(kCode + 1, 0);
  const std::string whole = stream.bytes();
  size_t refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const auto decoded = decode_scopes(
          kLayout, {bytes_of(pcs), bytes_of(damaged), bytes_of(metadata), kOwn, kCode}, GetParam());
      refused += decoded ? 0 : 1;
      if (decoded) {
        EXPECT_EQ(decoded->ranges.size(), 2U);
      }
    }
  }
  EXPECT_GT(refused, 20U);
}

}  // namespace
}  // namespace jitscope::hotspot::test
