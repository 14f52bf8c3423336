// The range that a live image must reach: near bodies, widened to the code cache, never to
// nonsense.
#include "probe/code_range.h"

#include <gtest/gtest.h>

#include "tests/unit/probe/fake_source.h"

namespace jitscope {
namespace {

using test::code_body;
using test::method_name;

constexpr uint64_t anchor = 0x7f00'0000'0000;
constexpr uint64_t mb = 1U << 20U;
const auto name = method_name("T", "m");

Mapping mapping(uint64_t start, uint64_t end, uint64_t inode = 0) {
  Mapping each;
  each.start = start;
  each.end = end;
  each.inode = inode;
  return each;
}
using Range = std::pair<uint64_t, uint64_t>;

TEST(CodeRange, TheAnchorAlone) {
  EXPECT_EQ(code_range_around(anchor, {}, {}), Range(anchor, anchor + 16));
}

TEST(CodeRange, NearBodiesAreInAndFarOnesAndStubsAreOut) {
  Snapshot snapshot;
  snapshot.bodies = {code_body(anchor - 100 * mb, name, 1, 64),
                     code_body(anchor + 100 * mb, name, 1, 64),
                     code_body(anchor - 1025 * mb, name, 1, 64),
                     code_body(anchor + 1025 * mb, name),
                     code_body(0x1000, name),
                     code_body(UINT64_MAX - 10, name)};
  CodeBody stub = code_body(anchor + 500 * mb, name);
  stub.tier = Tier::stub;
  snapshot.bodies.push_back(stub);
  EXPECT_EQ(code_range_around(anchor, snapshot, {}),
            Range(anchor - 100 * mb, anchor + 100 * mb + 64));
}

TEST(CodeRange, ASizeThatIsNonsenseDoesNotStretchIt) {
  Snapshot snapshot;
  snapshot.bodies = {code_body(anchor + 64, name, 1, UINT64_MAX),
                     code_body(anchor + 128, name, 1, 1ULL << 45U),
                     code_body(anchor + 256, name, 1, 64)};
  EXPECT_EQ(code_range_around(anchor, snapshot, {}), Range(anchor, anchor + 256 + 64));
}

TEST(CodeRange, AdjoiningAnonymousMappingsBelongToTheCodeCache) {
  const std::vector<Mapping> maps = {
      mapping(anchor - 30 * mb, anchor - 20 * mb),      // not adjoining: a gap follows
      mapping(anchor - 10 * mb, anchor - 5 * mb),       // adjoining through the next
      mapping(anchor - 5 * mb, anchor + mb),            // holds the anchor
      mapping(anchor + mb, anchor + 40 * mb),           // reserved, not yet used
      mapping(anchor + 40 * mb, anchor + 41 * mb, 77),  // a library that adjoins
      mapping(anchor + 41 * mb, anchor + 42 * mb)};
  EXPECT_EQ(code_range_around(anchor, {}, maps), Range(anchor - 10 * mb, anchor + 40 * mb));
}

TEST(CodeRange, AHugeNeighbourIsNoCodeCache) {
  const std::vector<Mapping> maps = {mapping(anchor - 4096 * mb, anchor),
                                     mapping(anchor, anchor + mb),
                                     mapping(anchor + mb, anchor + 4096 * mb)};
  EXPECT_EQ(code_range_around(anchor, {}, maps), Range(anchor, anchor + mb));
}

TEST(CodeRange, NeverWiderThanJumpsReach) {
  std::vector<Mapping> maps;
  for (uint64_t i = 0; i < 64; ++i) {
    maps.push_back(mapping(anchor + i * 100 * mb, anchor + (i + 1) * 100 * mb));
  }
  const auto [low, high] = code_range_around(anchor + 3200 * mb, {}, maps);
  EXPECT_LE(high - low, 2048 * mb);
  EXPECT_LE(low, anchor + 3200 * mb);
  EXPECT_GT(high, anchor + 3200 * mb);
}

}  // namespace
}  // namespace jitscope
