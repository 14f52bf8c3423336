#include "formats/perfmap/perf_map.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace jitscope {
namespace {

struct Parsed {
  std::vector<PerfMapLine> lines;
  Diagnostics diagnostics;
};

Parsed parse(std::string_view text, size_t step = SIZE_MAX) {
  Parsed parsed;
  PerfMapParser parser("map", parsed.diagnostics);
  while (!text.empty()) {
    const std::string_view chunk = text.substr(0, step);
    parser.feed(chunk, parsed.lines);
    text.remove_prefix(chunk.size());
  }
  return parsed;
}

TEST(PerfMap, FormsOfNumbersAndNames) {
  const Parsed parsed = parse(
      "7fdb827c3040 9e0 JS:^defineLazyProperties node:internal/util:598:30\n"
      "0x00007f8918ec79c0 0x0000000000000178 long T.f(int, long, double, java.lang.Object)\n"
      "00007FFA1B2C3D40 0A4 instance void [a] B::c()\n"
      "1000 1 x\n"
      "1000 1 x\n");
  ASSERT_EQ(parsed.lines.size(), 5U);
  EXPECT_TRUE(parsed.diagnostics.empty());
  EXPECT_EQ(parsed.lines[0].address, 0x7fdb827c3040U);
  EXPECT_EQ(parsed.lines[0].size, 0x9e0U);
  EXPECT_EQ(parsed.lines[0].name, "JS:^defineLazyProperties node:internal/util:598:30");
  EXPECT_EQ(parsed.lines[1].address, 0x7f8918ec79c0U);
  EXPECT_EQ(parsed.lines[1].size, 0x178U);
  EXPECT_EQ(parsed.lines[1].name, "long T.f(int, long, double, java.lang.Object)");
  EXPECT_EQ(parsed.lines[2].address, 0x7ffa1b2c3d40U);
  EXPECT_EQ(parsed.lines[3].name, "x");
  EXPECT_EQ(parsed.lines[4].number, 5U);
}

TEST(PerfMap, WindowsLineEndsAndTabs) {
  const Parsed parsed = parse("10 2 a b\r\n20\t2\tc\n\n   \n");
  ASSERT_EQ(parsed.lines.size(), 2U);
  EXPECT_EQ(parsed.lines[0].name, "a b");
  EXPECT_EQ(parsed.lines[1].name, "c");
  EXPECT_TRUE(parsed.diagnostics.empty());
}

TEST(PerfMap, AnySplitGivesTheSame) {
  const std::string text = "10 2 first name\n0x20 4 b\njunk\n30 0 empty\n40 8 la";
  const Parsed whole = parse(text);
  ASSERT_EQ(whole.lines.size(), 3U);
  for (size_t step = 1; step < text.size(); ++step) {
    const Parsed pieces = parse(text, step);
    ASSERT_EQ(pieces.lines.size(), whole.lines.size()) << step;
    for (size_t i = 0; i < whole.lines.size(); ++i) {
      EXPECT_EQ(pieces.lines[i].address, whole.lines[i].address);
      EXPECT_EQ(pieces.lines[i].name, whole.lines[i].name);
      EXPECT_EQ(pieces.lines[i].number, whole.lines[i].number);
    }
  }
}

TEST(PerfMap, HalfWrittenLineWaitsForTheRest) {
  Diagnostics diagnostics;
  PerfMapParser parser("map", diagnostics);
  std::vector<PerfMapLine> lines;
  parser.feed("10 2 who", lines);
  EXPECT_TRUE(lines.empty());
  EXPECT_TRUE(parser.half_line());
  parser.feed("le\n20 2 ha", lines);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].name, "whole");
  parser.finish(lines);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].name, "ha");
  EXPECT_FALSE(parser.half_line());
}

TEST(PerfMap, JunkIsCountedAndSkipped) {
  const Parsed parsed = parse(
      "hello world foo\n"         // no address
      "10\n"                      // no size
      "10 xyz foo\n"              // no size
      "10 20\n"                   // no name
      "10 20 \n"                  // no name
      "-10 20 a\n"                // no address
      "fffffffffffffff0 20 a\n"   // overflows
      "11112222333344445 20 a\n"  // 17 digits
      "ffffffffffffffff 0 last\n"
      "10 20 good\n");
  ASSERT_EQ(parsed.lines.size(), 2U);
  EXPECT_EQ(parsed.lines[0].name, "last");
  EXPECT_EQ(parsed.lines[1].number, 10U);
  EXPECT_EQ(parsed.diagnostics.count("perf map line without an address"), 3U);
  EXPECT_EQ(parsed.diagnostics.count("perf map line without a size"), 2U);
  EXPECT_EQ(parsed.diagnostics.count("perf map line without a name"), 2U);
  EXPECT_EQ(parsed.diagnostics.count("perf map line whose range leaves the address space"), 1U);
}

TEST(PerfMap, EndlessLinesAreBounded) {
  Parsed parsed;
  PerfMapParser parser("map", parsed.diagnostics);
  parser.feed("10 20 ", parsed.lines);
  const std::string chunk(10000, 'a');
  for (int i = 0; i < 100; ++i) parser.feed(chunk, parsed.lines);
  EXPECT_TRUE(parser.half_line());
  parser.feed("\n30 4 next\n", parsed.lines);
  ASSERT_EQ(parsed.lines.size(), 1U);
  EXPECT_EQ(parsed.lines[0].name, "next");
  EXPECT_EQ(parsed.lines[0].number, 2U);
  EXPECT_EQ(parsed.diagnostics.count("perf map line that is too long"), 1U);
}

TEST(PerfMap, LongestLineIsAllowedAndOneMoreIsNot) {
  const std::string head = "10 20 ";
  const std::string most(PerfMapParser::kLongestLine - head.size(), 'a');
  for (const size_t step : {size_t{7}, SIZE_MAX}) {
    EXPECT_EQ(parse(head + most + "\n", step).lines.size(), 1U) << step;
    EXPECT_EQ(parse(head + most + "\r\n", step).lines.size(), 1U) << step;
    EXPECT_EQ(parse(head + most + "a\n", step).lines.size(), 0U) << step;
    EXPECT_EQ(parse(head + most + "aaaaaaaa\n10 2 b\n", step).lines.size(), 1U) << step;
  }
}

TEST(PerfMap, ResetStartsAnew) {
  Diagnostics diagnostics;
  PerfMapParser parser("map", diagnostics);
  std::vector<PerfMapLine> lines;
  parser.feed("10 2 a\n20 2 ha", lines);
  parser.reset();
  parser.feed("30 2 c\n", lines);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].address, 0x30U);
  EXPECT_EQ(lines[1].number, 1U);
}

TEST(PerfMap, ExamplesInDiagnosticsArePrintable) {
  const Parsed parsed = parse(std::string("\x1b[31m\0 evil\n", 12));
  const std::vector<Diagnostics::Entry> entries = parsed.diagnostics.entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].first, "map:1: ?[31m? evil");
}

// Every seed of the fuzzer, whole and byte by byte: the same lines, none beyond the address space.
TEST(PerfMap, FuzzCorpusReplays) {
  const std::filesystem::path corpus =
      std::filesystem::path(JITSCOPE_SOURCE_DIR) / "fuzz/corpus/perf_map";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    const Parsed whole = parse(text.str());
    const Parsed pieces = parse(text.str(), 1);
    ASSERT_EQ(whole.lines.size(), pieces.lines.size()) << entry.path();
    for (size_t i = 0; i < whole.lines.size(); ++i) {
      EXPECT_EQ(whole.lines[i].name, pieces.lines[i].name);
      EXPECT_FALSE(whole.lines[i].name.empty());
      EXPECT_GE(whole.lines[i].address + whole.lines[i].size, whole.lines[i].address);
    }
    ++files;
  }
  EXPECT_GT(files, 4U);
}

}  // namespace
}  // namespace jitscope
