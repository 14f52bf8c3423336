#include "runtimes/hotspot/line_numbers.h"

#include <gtest/gtest.h>

#include "scope_stream.h"

namespace jitscope::hotspot::test {
namespace {

std::optional<LineNumbers> decode(const std::string& bytes, Unsigned5 form) {
  return LineNumbers::decode(std::as_bytes(std::span(bytes.data(), bytes.size())), form);
}

class LineNumbersTest : public testing::TestWithParam<Unsigned5> {
 protected:
  LineNumbers made(const std::vector<std::pair<int, int>>& lines) {
    auto decoded = decode(line_table(lines, GetParam()), GetParam());
    EXPECT_TRUE(decoded);
    return decoded.value_or(LineNumbers());
  }
};

INSTANTIATE_TEST_SUITE_P(Forms, LineNumbersTest,
                         testing::Values(Unsigned5::plain, Unsigned5::no_zero),
                         [](const auto& tested) {
                           return tested.param == Unsigned5::plain ? "plain" : "no_zero";
                         });

TEST_P(LineNumbersTest, EachBytecodeIsOnTheLineOfTheEntryBeforeIt) {
  const LineNumbers lines = made({{0, 300}, {5, 301}, {9, 305}, {200, 65000}, {65535, 65535}});
  EXPECT_EQ(lines.line_of(0), 300U);
  EXPECT_EQ(lines.line_of(4), 300U);
  EXPECT_EQ(lines.line_of(5), 301U);
  EXPECT_EQ(lines.line_of(8), 301U);
  EXPECT_EQ(lines.line_of(9), 305U);
  EXPECT_EQ(lines.line_of(199), 305U);
  EXPECT_EQ(lines.line_of(65534), 65000U);
  EXPECT_EQ(lines.line_of(65535), 65535U);
  EXPECT_EQ(lines.line_of(-1), 0U);
  EXPECT_EQ(lines.line_of(65536), 0U);
}

TEST_P(LineNumbersTest, LinesAndIndicesMayGoBack) {
  // A loop's condition is behind its body in the code and before it in the text.
  const LineNumbers lines = made({{0, 10}, {20, 12}, {30, 11}, {25, 40}});
  EXPECT_EQ(lines.line_of(24), 12U);
  EXPECT_EQ(lines.line_of(25), 40U);
  EXPECT_EQ(lines.line_of(29), 40U);
  EXPECT_EQ(lines.line_of(31), 11U);
}

TEST_P(LineNumbersTest, OfSeveralAtOneIndexTheJvmTakesTheFirstForItAndTheLastBehindIt) {
  const LineNumbers lines = made({{0, 1}, {5, 7}, {5, 9}});
  EXPECT_EQ(lines.line_of(5), 7U);
  EXPECT_EQ(lines.line_of(6), 9U);
}

TEST_P(LineNumbersTest, BeforeTheFirstEntryThereIsNoLine) {
  const LineNumbers lines = made({{3, 8}});
  EXPECT_EQ(lines.line_of(2), 0U);
  EXPECT_EQ(lines.line_of(3), 8U);
  EXPECT_TRUE(made({}).empty());
  EXPECT_EQ(made({}).line_of(0), 0U);
}

TEST_P(LineNumbersTest, TablesWithoutAnEndOrOutOfRange) {
  const std::string whole = line_table({{0, 300}, {5, 301}, {9, 305}}, GetParam());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(decode(whole.substr(0, i), GetParam())) << i;
  }
  EXPECT_FALSE(decode(line_table({{0, 65536}}, GetParam()), GetParam()));
  EXPECT_FALSE(decode(line_table({{65536, 1}}, GetParam()), GetParam()));
  EXPECT_FALSE(decode(line_table({{5, 5}, {0, -1}}, GetParam()), GetParam()));
  EXPECT_FALSE(decode(line_table({{5, 5}, {-1, 1}}, GetParam()), GetParam()));
}

TEST(LineNumbers, KnownBytes) {
  // bci +0 line +5; bci +3 line +2; end.
  const auto lines = decode(std::string("\x05\x1a\0", 3), Unsigned5::plain);
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->line_of(0), 5U);
  EXPECT_EQ(lines->line_of(3), 7U);
}

TEST(LineNumbers, ATableOfNothingButEntriesComesToAnEnd) {
  EXPECT_FALSE(decode(std::string(8U << 20U, '\x01'), Unsigned5::plain));
}

}  // namespace
}  // namespace jitscope::hotspot::test
