#include "inject/settled.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "replay/last_chain.h"

namespace jitscope {
namespace {

using Kind = SettledCode::Kind;

constexpr uint64_t kCode = 0x7f0000001000;

AnswerLimits until(uint64_t time) {
  AnswerLimits limits;
  limits.until = time;
  return limits;
}

TEST(SettledCodeTest, StretchesAreSettledToTheByte) {
  SettledCode code;
  EXPECT_FALSE(code.at(kCode));
  code.settle(kCode + 0x25, {kCode + 0x21, kCode + 0x87}, Kind::jit, {});
  EXPECT_FALSE(code.at(kCode + 0x20));
  EXPECT_TRUE(code.at(kCode + 0x21));
  EXPECT_TRUE(code.at(kCode + 0x50));
  EXPECT_TRUE(code.at(kCode + 0x87));
  EXPECT_FALSE(code.at(kCode + 0x88));
  EXPECT_EQ(code.kind_at(kCode + 0x88), Kind::open);
  code.settle(kCode + 0x88, {kCode + 0x88, kCode + 0x88}, Kind::nameless, {});
  EXPECT_EQ(code.kind_at(kCode + 0x87), Kind::jit);
  EXPECT_EQ(code.kind_at(kCode + 0x88), Kind::nameless);
  EXPECT_FALSE(code.at(kCode + 0x89));
  uint64_t jit = 0;
  uint64_t nameless = 0;
  EXPECT_TRUE(code.count(kCode + 0x50, jit, nameless));
  EXPECT_FALSE(code.count(kCode + 0x88, jit, nameless));  // part of a granule
  EXPECT_FALSE(code.count(kCode + 0x100, jit, nameless));
  EXPECT_EQ(jit, 1U);
  EXPECT_EQ(nameless, 0U);
}

TEST(SettledCodeTest, CallersEndAtTheFirstThatIsOpenAndAtMarkers) {
  SettledCode code;
  code.settle(kCode, {kCode, kCode + 0xff}, Kind::other, {});
  const std::vector<uint64_t> ips = {kCode + 1, kCode + 0x100, kCode + 0x101, kCode + 1};
  EXPECT_EQ(code.callers(ips), 2U);  // the call of the third is at +0x100
  EXPECT_EQ(code.callers(std::span(ips).first(2)), 2U);
  // Not even where somebody claims that there is code.
  code.settle(UINT64_MAX - 100, {0, UINT64_MAX}, Kind::other, {});
  code.settle(perfdata::kContextMax - 1, {0, UINT64_MAX}, Kind::other, {});
  const std::vector<uint64_t> marker = {perfdata::kContextMax};
  EXPECT_EQ(code.callers(marker), 0U);
  const std::vector<uint64_t> user = {perfdata::kContextUser};
  EXPECT_EQ(code.callers(user), 0U);
}

TEST(SettledCodeTest, WhatExpiresIsForgottenAtItsTime) {
  SettledCode code;
  code.begin({1, 1, 1}, 10);
  code.settle(kCode, {kCode, kCode + 0xf}, Kind::jit, until(20));
  code.settle(kCode + 0x10, {kCode + 0x10, kCode + 0x4f}, Kind::jit, until(30));
  const uint64_t opened = code.opened();
  code.begin({1, 1, 1}, 19);
  EXPECT_TRUE(code.at(kCode));
  EXPECT_EQ(code.opened(), opened);
  code.begin({1, 1, 1}, 20);
  EXPECT_FALSE(code.at(kCode + 0xf));
  EXPECT_TRUE(code.at(kCode + 0x10));
  EXPECT_NE(code.opened(), opened);
  code.begin({1, 1, 1}, 100);
  EXPECT_FALSE(code.at(kCode + 0x10));
  EXPECT_FALSE(code.at(kCode + 0x4f));
}

TEST(SettledCodeTest, GrowthEndsWhatHadNoMappingAndOtherChangesEndAll) {
  SettledCode code;
  code.begin({1, 1, 1}, 0);
  AnswerLimits limits;
  limits.growth = 1;
  code.settle(kCode, {kCode, kCode}, Kind::other, limits);
  code.settle(kCode + 1, {kCode + 1, kCode + 9}, Kind::other, {});
  code.begin({1, 2, 1}, 0);
  EXPECT_FALSE(code.at(kCode));
  EXPECT_TRUE(code.at(kCode + 1));
  code.view_changed(1, 2, kCode + 4, kCode + 6);
  code.begin({1, 2, 2}, 0);
  EXPECT_TRUE(code.at(kCode + 2));
  EXPECT_FALSE(code.at(kCode + 3));  // perf looks for its return address behind it
  EXPECT_FALSE(code.at(kCode + 4));
  EXPECT_FALSE(code.at(kCode + 5));
  EXPECT_TRUE(code.at(kCode + 6));
  code.begin({1, 2, 3}, 0);
  EXPECT_FALSE(code.at(kCode + 2));
  code.settle(kCode + 1, {kCode + 1, kCode + 9}, Kind::other, {});
  code.begin({2, 2, 3}, 0);
  EXPECT_FALSE(code.at(kCode + 3));
}

// Against a map of single bytes.
TEST(SettledCodeTest, RandomStretchesAreWhatWasSaidLast) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    SettledCode code;
    std::map<uint64_t, Kind> truth;
    const uint64_t span = uint64_t{1} << (8 + random() % 10);
    const auto somewhere = [&] {
      const uint64_t low = kCode + random() % span;
      return AddressRange{low, low + random() % (random() % 2 == 0 ? 40 : 3000)};
    };
    for (int step = 0; step < 200; ++step) {
      AddressRange range = somewhere();
      if (random() % 3 == 0) {
        code.open(range);
        truth.erase(truth.lower_bound(range.low), truth.upper_bound(range.high));
      } else {
        const uint64_t address = range.low + random() % (range.high - range.low + 1);
        const auto kind = static_cast<Kind>(1 + random() % 3);
        code.settle(address, range, kind, {});
        // What lies in other blocks need not be; the address must.
        ASSERT_EQ(code.kind_at(address), kind);
        for (uint64_t at = range.low; at <= range.high; ++at) {
          if (code.kind_at(at) == kind) truth[at] = kind;
        }
      }
      for (int look = 0; look < 50; ++look) {
        const uint64_t at = kCode + random() % (span + 3000);
        const auto known = truth.find(at);
        ASSERT_EQ(code.kind_at(at), known == truth.end() ? Kind::open : known->second);
        ASSERT_EQ(code.at(at), known != truth.end());
      }
    }
  }
}

TEST(SettledCodeTest, ManyAddressesDoNotTakeMemoryWithoutEnd) {
  SettledCode code;
  for (uint64_t i = 0; i < 200'000; ++i) {
    const uint64_t address = kCode + i * 0x10'0000;
    code.settle(address, {address, address}, Kind::other, until(i + 1));
    ASSERT_TRUE(code.at(address));
  }
  EXPECT_FALSE(code.at(kCode));
}

TEST(LastChainTest, SharesReturnAddressesBehindTheLastMarkers) {
  LastChain last;
  const std::vector<uint64_t> first = {perfdata::kContextUser, 9, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(last.shared(first), 0U);
  last.set(first, 0, 9, perfdata::CpuMode::user);
  EXPECT_EQ(last.shared(first), 8U);  // the leaf is no return address
  const std::vector<uint64_t> deeper = {perfdata::kContextUser, 20, 19, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(last.shared(deeper), 7U);
  // In this one the 7 is where the code was interrupted.
  const std::vector<uint64_t> shorter = {perfdata::kContextUser, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(last.shared(shorter), 6U);
  EXPECT_EQ(last.shared(std::span(shorter).subspan(1)), 6U);
  last.set(deeper, 7, 9, perfdata::CpuMode::user);
  EXPECT_EQ(last.shared(deeper), 8U);
  const std::vector<uint64_t> longer(100, 1);
  last.set(longer, 1, 100, perfdata::CpuMode::user);
  EXPECT_EQ(last.shared(longer), 99U);
  EXPECT_EQ(last.shared(deeper), 1U);
  EXPECT_EQ(last.shared({}), 0U);
}

}  // namespace
}  // namespace jitscope
