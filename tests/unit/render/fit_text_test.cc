// Names in columns of a terminal's width, and percentages in colour.
#include "render/fit_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "base/printable.h"
#include "render/report_table.h"
#include "render/report_tree.h"
#include "sample_profile.h"

namespace jitscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(FitText, WhatFitsStaysAsItIs) {
  EXPECT_EQ(fit_text("", 0), "");
  EXPECT_EQ(fit_text("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(fit_name("a(b, c)", 7), "a(b, c)");
}

TEST(FitText, TheMiddleIsLeftOut) {
  EXPECT_EQ(fit_text("abcdefghijkl", 9), "abc...jkl");
  EXPECT_EQ(fit_text("abcdefghijkl", 8), "abc...kl");
  EXPECT_EQ(fit_text("abcdefghijkl", 5), "abcde");
  EXPECT_EQ(fit_text("abcdefghijkl", 0), "");
}

TEST(FitText, ParametersGoBeforeTheMethod) {
  const std::string put = "java.util.HashMap.put(java.lang.Object, java.lang.Object)";
  EXPECT_EQ(fit_name(put, 30), "java.util.HashMap.put(...)");
  EXPECT_EQ(fit_name(put, 20), "java....Map.put(...)");
  EXPECT_EQ(fit_name("ns::f(void (*)(int), int) const", 20), "ns::f(...) const");
  // The library of a line of a tree is none.
  EXPECT_EQ(fit_name("A.get(java.lang.Object)? [c2] (memfd:jit)", 30),
            "A.get(...)? [c2] (memfd:jit)");
  EXPECT_EQ(fit_name("A.get(int)? [c2] (memfd:jit)", 27), "A.get(in...[c2] (memfd:jit)");
  EXPECT_EQ(fit_name("(anonymous namespace)::f", 15), "(ano...pace)::f");
  EXPECT_EQ(fit_name("f)))((((", 6), "f...((");
}

TEST(FitText, CharactersAreCountedNotBytes) {
  const std::string name = "日本語日本語日本語";
  EXPECT_EQ(characters(name), 9u);
  EXPECT_EQ(fit_name(name, 9), name);
  EXPECT_EQ(fit_text(name, 7), "日本...本語");
  EXPECT_EQ(fit_text(name, 2), "日本");
  for (size_t width = 0; width < 12; ++width) {
    for (const std::string& text : {fit_text(name, width), fit_name(name + "(é, ü, ö)", width)}) {
      EXPECT_LE(characters(text), width);
      EXPECT_EQ(printable(text), text) << "whole characters";
    }
  }
}

TEST(FitText, TheWidestColumnsGiveFirst) {
  EXPECT_THAT(fit_columns({4, 7, 12, 20}, 60), ElementsAre(4, 7, 12, 37));
  EXPECT_THAT(fit_columns({4, 7, 28, 100}, 50), ElementsAre(4, 7, 14, 25));
  EXPECT_THAT(fit_columns({10, 10, 10, 5}, 20), ElementsAre(5, 5, 5, 5));
  EXPECT_THAT(fit_columns({1'000'000, 5}, 20), ElementsAre(15, 5));
  EXPECT_THAT(fit_columns({1'000'000}, 20), ElementsAre(20));
  EXPECT_TRUE(fit_columns({}, 20).empty());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string without_colours(std::string text) {
  for (const std::string_view code : {"\x1b[31m", "\x1b[32m", "\x1b[m"}) {
    for (size_t at = text.find(code); at != std::string::npos; at = text.find(code)) {
      text.erase(at, code.size());
    }
  }
  return text;
}

TEST(ReportLook, RowsFitTheWidth) {
  for (const bool children : {true, false}) {
    ReportOptions options;
    options.children = children;
    const Report report = build_report(test::sample_profile(), options);
    for (const size_t width : {60U, 80U, 100U}) {
      const auto lines = lines_of(report_text(report, {.width = width}));
      EXPECT_EQ(lines.size(), lines_of(report_text(report)).size());
      size_t rows = 0;
      for (const std::string& line : lines) {
        if (line.starts_with("# ") && !line.contains("Self")) continue;
        EXPECT_LE(characters(line), width) << line;
        ++rows;
      }
      EXPECT_GT(rows, 5u);
    }
  }
  const Report report = build_report(test::sample_profile());
  const std::string narrow = report_text(report, {.width = 80});
  EXPECT_THAT(narrow, HasSubstr("put(...)"));
  EXPECT_THAT(narrow, Not(HasSubstr("put(java.lang.Object,java.lang.Object)")));
  EXPECT_THAT(report_text(report, {.width = 1000}),
              HasSubstr("put(java.lang.Object,java.lang.Object)"));
}

TEST(ReportLook, TreesFitTheWidth) {
  const Report report = build_report(test::sample_profile());
  for (const std::string& line : lines_of(report_with_trees(report, {.width = 70}, {}))) {
    if (!line.starts_with("# ")) {
      EXPECT_LE(characters(line), 70u) << line;
    }
  }
}

TEST(ReportLook, PercentagesHaveTheColoursOfPerf) {
  const auto text = [](double percent) {
    std::string out;
    append_percent(out, percent, 7, true);
    return out;
  };
  EXPECT_EQ(text(100), "\x1b[31m 100.00%\x1b[m");
  EXPECT_EQ(text(5), "\x1b[31m   5.00%\x1b[m");
  EXPECT_EQ(text(4.99), "\x1b[32m   4.99%\x1b[m");
  EXPECT_EQ(text(0.5), "\x1b[32m   0.50%\x1b[m");
  EXPECT_EQ(text(0.49), "   0.49%");
  std::string plain;
  append_percent(plain, 50, 6, false);
  EXPECT_EQ(plain, " 50.00%");

  const Report report = build_report(test::sample_profile());
  EXPECT_EQ(without_colours(report_text(report, {.colour = true})), report_text(report));
  EXPECT_EQ(without_colours(report_with_trees(report, {.colour = true}, {})),
            report_with_trees(report, {}, {}));
}

TEST(ReportLook, ANameThatIsWrittenForTheTerminalIsHarmlessInColourToo) {
  test::ProfileBuilder b;
  b.profile.events = {{"cpu-\x1b[2Jclock", "count"}};
  b.profile.groups = {{1, 1, "a\x1b[31m", "a\x1b[31m"}};
  const FrameId evil =
      b.frame(test::named("\x1b[31mred\x1b[m\n\x9b"
                          "2J \x1b]0;own\x07",
                          "d\x1b[32m", FrameKind::jit, NameSource::jitdump));
  b.add(0, b.stack({evil, evil}), 10);
  ReportOptions options;
  options.keys = {ReportKey::process, ReportKey::thread, ReportKey::method, ReportKey::dso};
  const Report report = build_report(b.profile, options);
  for (const size_t width : {0U, 40U, 60U, 100U}) {
    const ReportTextOptions look{.width = width, .colour = true};
    for (const std::string& text :
         {report_text(report, look), report_with_trees(report, look, {})}) {
      EXPECT_THAT(text, HasSubstr("\x1b[31m 100.00%\x1b[m"));
      // Ours are around percentages and nowhere else.
      size_t codes = 0;
      for (const char c : text) codes += c == '\x1b' ? 1U : 0U;
      size_t percents = 0;
      for (size_t at = text.find("%\x1b[m"); at != std::string::npos;
           at = text.find("%\x1b[m", at + 1)) {
        ++percents;
      }
      EXPECT_EQ(codes, 2 * percents);
      EXPECT_TRUE(is_printable_lines(without_colours(text)));
    }
  }
}

}  // namespace
}  // namespace jitscope
