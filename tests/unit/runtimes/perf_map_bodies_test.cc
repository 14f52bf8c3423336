#include "runtimes/common/perf_map_bodies.h"
#include "runtimes/all_runtimes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace jitscope {
namespace {

Mapping mapping(uint64_t start, uint64_t end, bool executable) {
  Mapping out;
  out.start = start;
  out.end = end;
  out.readable = true;
  out.executable = executable;
  return out;
}

class Bodies : public ::testing::Test {
 protected:
  void add(uint64_t address, uint64_t size, std::string name) {
    bodies_.add(PerfMapLine{address, size, std::move(name), ++line_}, diagnostics_);
  }
  std::vector<CodeBody> alive() { return bodies_.alive(maps_, diagnostics_); }

  PerfMapBodies bodies_{row_of(Runtime::v8), SourceKind::perf_map};
  Diagnostics diagnostics_;
  std::vector<Mapping> maps_ = {mapping(0x1000, 0x2000, false), mapping(0x10000, 0x12000, true),
                                mapping(0x12000, 0x14000, true), mapping(0x14000, 0x15000, false)};
  uint64_t line_ = 0;
};

TEST_F(Bodies, LaterLinesEndWhatTheyOverlap) {
  add(0x10000, 0x100, "JS:*a /a.js:1:1");
  add(0x10100, 0x100, "JS:*b /a.js:2:1");
  add(0x10200, 0x100, "JS:*c /a.js:3:1");
  add(0x10080, 0x100, "JS:*d /a.js:4:1");  // over a's end and b's beginning
  const std::vector<CodeBody> out = alive();
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].name->function, "d");
  EXPECT_EQ(out[0].version, 4U);
  EXPECT_EQ(out[0].entry, 0x10080U);
  EXPECT_EQ(out[0].state, BodyState::unknown);
  EXPECT_EQ(out[1].name->function, "c");
}

TEST_F(Bodies, OneInsideAnotherAndOneAroundMany) {
  add(0x10000, 0x1000, "JS:*big /a.js:1:1");
  add(0x10400, 0x10, "JS:*small /a.js:2:1");
  ASSERT_EQ(alive().size(), 1U);
  EXPECT_EQ(alive()[0].name->function, "small");
  add(0x10500, 0x10, "JS:*other /a.js:3:1");
  ASSERT_EQ(alive().size(), 2U);
  add(0x10000, 0x2000, "JS:*all /a.js:4:1");
  ASSERT_EQ(alive().size(), 1U);
  EXPECT_EQ(alive()[0].name->function, "all");
}

// Erlang's are two lines a function.
TEST_F(Bodies, PartsOfAFunctionAreNotOneMoreBody) {
  PerfMapBodies bodies(row_of(Runtime::erlang), SourceKind::perf_map);
  bodies.add(PerfMapLine{0x10000, 0x30, "$m:f/1-CodeInfoPrologue", 1}, diagnostics_);
  bodies.add(PerfMapLine{0x10030, 0x40, "$m:f/1", 2}, diagnostics_);
  const std::vector<CodeBody> out = bodies.alive(maps_, diagnostics_);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].tier, Tier::stub) << "no pattern means it";
  EXPECT_FALSE(out[0].not_probeable.empty());
  EXPECT_EQ(out[1].tier, Tier::unknown);
  EXPECT_TRUE(out[1].not_probeable.empty());
  EXPECT_EQ(out[1].entry, 0x10030U);
}

TEST_F(Bodies, TheSameLineTwiceIsOneBody) {
  add(0x10000, 0x100, "JS:*a /a.js:1:1");
  add(0x10000, 0x100, "JS:*a /a.js:1:1");
  add(0x10100, 0x100, "JS:*a /a.js:1:1");
  const std::vector<CodeBody> out = alive();
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].version, 2U);
  EXPECT_EQ(out[0].name, out[1].name) << "equal names share one object";
}

TEST_F(Bodies, OnlyWhatLiesInExecutableMemory) {
  add(0x11f00, 0x200, "JS:*across /a.js:1:1");  // over two adjacent mappings
  add(0x13f00, 0x200, "JS:*beyond /a.js:2:1");  // ends in data
  add(0x1100, 0x20, "JS:~bytecode /a.js:3:1");
  add(0x1200, 0x20, "JS:*data /a.js:4:1");
  add(0x20000, 0x20, "JS:*nowhere /a.js:5:1");
  add(0x20100, 0x20, "JS:~nowhere /a.js:6:1");
  add(0xfff, 0x20, "JS:~before /a.js:7:1");
  add(0x1ff0, 0x20, "JS:~out /a.js:8:1");
  for (int round = 0; round < 3; ++round) {
    const std::vector<CodeBody> out = alive();
    ASSERT_EQ(out.size(), 2U);
    EXPECT_EQ(out[0].name->function, "bytecode");
    EXPECT_EQ(out[0].tier, Tier::bytecode);
    EXPECT_EQ(out[0].not_probeable, "bytecode");
    EXPECT_EQ(out[0].entry, 0U);
    EXPECT_EQ(out[1].name->function, "across");
    EXPECT_EQ(out[1].not_probeable, "");
    EXPECT_EQ(out[1].convention, CallConvention::v8_x86_64);
  }
  EXPECT_EQ(diagnostics_.count("perf map line in memory that is not executable"), 2U);
  EXPECT_EQ(diagnostics_.count("perf map line outside the memory of the process"), 4U);
}

TEST_F(Bodies, MappingsThatAreGone) {
  add(0x10000, 0x100, "JS:*a /a.js:1:1");
  EXPECT_EQ(alive().size(), 1U);
  maps_.erase(maps_.begin() + 1);
  EXPECT_EQ(alive().size(), 0U);
}

TEST_F(Bodies, SizeZeroIsCounted) {
  add(0x10000, 0, "JS:*a /a.js:1:1");
  EXPECT_EQ(alive().size(), 0U);
  EXPECT_EQ(diagnostics_.count("perf map line of size 0"), 1U);
}

TEST_F(Bodies, EndOfTheAddressSpace) {
  add(UINT64_MAX - 0x10, 0x10, "JS:*last /a.js:1:1");
  add(UINT64_MAX - 0x8, 0x8, "JS:*later /a.js:1:1");
  EXPECT_EQ(bodies_.size(), 1U);
  EXPECT_EQ(alive().size(), 0U);
}

TEST_F(Bodies, ManyNamesThatDieAreForgotten) {
  for (int i = 0; i < 20000; ++i) {
    add(0x10000 + static_cast<uint64_t>(i % 8) * 0x10, 0x10,
        "JS:*f" + std::to_string(i) + " /a.js:1:1");
  }
  EXPECT_EQ(bodies_.size(), 8U);
  EXPECT_EQ(alive()[7].name->function, "f19999");
}

TEST(BodiesOfHotSpot, EntriesAreNotKnown) {
  PerfMapBodies bodies(row_of(Runtime::hotspot), SourceKind::compiler_perfmap);
  Diagnostics diagnostics;
  bodies.add(PerfMapLine{0x1000, 0x40, "int T.f(int)", 1}, diagnostics);
  const std::vector<CodeBody> out = bodies.alive({mapping(0x1000, 0x2000, true)}, diagnostics);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].entry, 0U);
  EXPECT_FALSE(out[0].not_probeable.empty());
  EXPECT_EQ(out[0].source, SourceKind::compiler_perfmap);
}

}  // namespace
}  // namespace jitscope
