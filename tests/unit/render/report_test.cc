// Rows, their sums and their trees, against the stacks counted the slow way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "render/report_table.h"
#include "render/report_tree.h"
#include "sample_profile.h"

namespace jitscope {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const ReportRow* find(const Report& report, std::string_view method) {
  for (const ReportRow& row : report.rows) {
    if (row.frame.method.starts_with(method)) return &row;
  }
  return nullptr;
}

TEST(Report, VersionsOfAMethodAreOneRowAndRecursionCountsOnce) {
  const Report report = build_report(test::sample_profile());
  EXPECT_EQ(report.sum.samples, 120u);
  EXPECT_EQ(report.sum.weight, 1'200'000'000u);
  const ReportRow* put = find(report, "java.util.HashMap.put");
  ASSERT_NE(put, nullptr);
  EXPECT_EQ(put->total.samples, 40u + 10 + 5 + 7 + 9);
  EXPECT_EQ(put->self.samples, 10u + 5 + 7);
  EXPECT_EQ(put->tiers, "c1-full,c2");
  EXPECT_EQ(put->sources, "jitdump");
  EXPECT_FALSE(put->ambiguous);
  EXPECT_TRUE(find(report, "org.example.Cache")->ambiguous);
  EXPECT_EQ(report.rows[0].frame.method, "start_thread");
  EXPECT_EQ(report.rows[0].total.samples, 119u);
  // Two unnamed rows: the reasons differ.
  size_t unnamed = 0;
  for (const ReportRow& row : report.rows) {
    if (!row.frame.method.empty()) continue;
    ++unnamed;
    EXPECT_NE(row.frame.no_name, NoName::none);
  }
  EXPECT_EQ(unnamed, 2u);

  const Report split = build_report(test::sample_profile(), {.split_tiers = true});
  std::map<std::string, uint64_t> totals;
  for (const ReportRow& row : split.rows) {
    if (row.frame.method.starts_with("java.util.HashMap.put")) {
      totals[row.tiers] = row.total.samples;
    }
  }
  EXPECT_THAT(totals, ElementsAre(testing::Pair("c1-full", 5), testing::Pair("c2", 66)));
}

TEST(Report, SortKeys) {
  const auto keys = parse_report_keys("process,sym");
  ASSERT_TRUE(keys.has_value());
  EXPECT_THAT(*keys, ElementsAre(ReportKey::process, ReportKey::method));
  for (const std::string_view wrong : {"", "method,", "weather", "dso,,tier"}) {
    EXPECT_FALSE(parse_report_keys(wrong).has_value()) << wrong;
  }
  const auto totals = [](std::vector<ReportKey> by, auto name) {
    std::map<std::string, uint64_t> found;
    for (const ReportRow& row :
         build_report(test::sample_profile(), {.keys = std::move(by)}).rows) {
      EXPECT_TRUE(found.emplace(name(row), row.total.samples).second) << name(row);
    }
    return found;
  };
  EXPECT_THAT(totals({ReportKey::process}, [](const ReportRow& row) { return row.process; }),
              ElementsAre(testing::Pair("java 100", 100), testing::Pair("node 200", 20)));
  EXPECT_THAT(totals({ReportKey::thread}, [](const ReportRow& row) { return row.thread; }),
              ElementsAre(testing::Pair("C2 Compiler-100/101", 24),
                          testing::Pair("java-100/100", 76), testing::Pair("node-200/200", 20)));
  EXPECT_THAT(totals({ReportKey::dso}, [](const ReportRow& row) { return row.frame.dso; }),
              ElementsAre(testing::Pair("", 1), testing::Pair("JIT", 95),
                          testing::Pair("[kernel.kallsyms]", 9), testing::Pair("libc.so.6", 119),
                          testing::Pair("libjvm.so", 24), testing::Pair("memfd:jit (deleted)", 4)));
  EXPECT_THAT(totals({ReportKey::source}, [](const ReportRow& row) { return row.sources; }),
              ElementsAre(testing::Pair("elf", 119), testing::Pair("jitdump", 95),
                          testing::Pair("kernel", 9), testing::Pair("none", 5),
                          testing::Pair("perf map", 7)));
  const auto by_tier = totals({ReportKey::tier}, [](const ReportRow& row) { return row.tiers; });
  EXPECT_EQ(by_tier.at("c2"), 66u);
  EXPECT_EQ(by_tier.at("c1-full"), 5u);
  // The same method in two processes is two rows.
  const Report both =
      build_report(test::sample_profile(), {.keys = {ReportKey::process, ReportKey::method}});
  std::map<std::string, uint64_t> start;
  for (const ReportRow& row : both.rows) {
    if (row.frame.method == "start_thread") start[row.process] = row.total.samples;
  }
  EXPECT_THAT(start, ElementsAre(testing::Pair("java 100", 99), testing::Pair("node 200", 20)));
}

// Random profiles: every row's self and total, counted stack by stack.
TEST(Report, SumsAreThoseOfTheStacks) {
  std::mt19937 random(9);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  for (int round = 0; round < 150; ++round) {
    test::ProfileBuilder b;
    b.profile.events = {{"cpu-clock", "nanoseconds"}, {"faults", "count"}};
    b.profile.groups = {{1, 1, "a", "a"}, {1, 2, "b", "a"}, {2, 3, "a", "c"}};
    for (uint32_t i = 0; i < 7; ++i) {
      b.frame(test::named("m" + std::to_string(i / 2), "d" + std::to_string(i % 2), FrameKind::jit,
                          NameSource::jitdump, i % 3 == 0 ? Tier::c2 : Tier::c1));
    }
    const uint32_t count = 1 + draw(50);
    for (uint32_t i = 0; i < count; ++i) {
      b.profile.nodes.push_back({draw(3) == 0 ? draw(i + 1) : i, draw(7)});
      b.profile.stacks.push_back({draw(2), draw(3), i + 1, 1 + draw(9), draw(1000)});
    }
    const bool by_thread = round % 2 == 0;
    ReportOptions options;
    options.split_tiers = round % 3 == 0;
    if (by_thread) options.keys = {ReportKey::thread, ReportKey::method};
    const Report report = build_report(b.profile, options);

    const auto name = [&](const Group& group, const Frame& frame) {
      std::string text = by_thread ? thread_label(group, true) : frame.dso;
      text += "|" + frame.method;
      if (options.split_tiers) text += "|" + std::string(to_string(frame.tier));
      return text;
    };
    std::map<std::string, ReportCount> self;
    std::map<std::string, ReportCount> total;
    for (const StackWeight& each : b.profile.stacks) {
      if (each.event != 0) continue;
      const ReportCount amount{each.samples, each.weight};
      std::set<std::string> seen;
      bool leaf = true;
      for (const FrameId id : b.profile.frames_of(each.stack)) {
        const std::string key = name(b.profile.groups[each.group], b.profile.frames[id]);
        if (leaf) self[key] += amount;
        leaf = false;
        if (seen.insert(key).second) total[key] += amount;
      }
    }
    ASSERT_EQ(report.rows.size(), total.size());
    uint64_t last = UINT64_MAX;
    for (const ReportRow& row : report.rows) {
      std::string key = by_thread ? row.thread : row.frame.dso;
      key += "|" + row.frame.method;
      if (options.split_tiers) key += "|" + row.tiers;
      EXPECT_EQ(row.self.samples, self[key].samples);
      EXPECT_EQ(row.self.weight, self[key].weight);
      EXPECT_EQ(row.total.samples, total[key].samples);
      EXPECT_EQ(row.total.weight, total[key].weight);
      EXPECT_LE(row.total.weight, last) << "by total";
      last = row.total.weight;
    }
    // All that calls a row is no more than the row; what it calls, too.
    const ReportTrees trees(report);
    for (size_t i = 0; i < report.rows.size(); ++i) {
      for (const TreeDirection direction : {TreeDirection::callers, TreeDirection::callees}) {
        uint64_t direct = 0;
        for (const TreeLine& line : trees.lines(i, {.direction = direction, .min_percent = 0})) {
          if (line.depth == 1) direct += line.count.samples;
        }
        EXPECT_LE(direct, report.rows[i].total.samples);
      }
    }
  }
}

std::vector<std::string> tree_of(const Report& report, std::string_view method,
                                 TreeDirection direction) {
  const ReportTrees trees(report);
  std::vector<std::string> lines;
  for (size_t i = 0; i < report.rows.size(); ++i) {
    if (!report.rows[i].frame.method.starts_with(method)) continue;
    for (const TreeLine& line : trees.lines(i, {.direction = direction, .min_percent = 0})) {
      lines.push_back(std::string(line.depth, ' ') + report.stacks.names[line.name] + " " +
                      std::to_string(line.count.samples));
    }
  }
  return lines;
}

TEST(ReportTree, CallersAndCallees) {
  const Report report = build_report(test::sample_profile());
  EXPECT_THAT(tree_of(report, "java.util.HashMap.put", TreeDirection::callers),
              ElementsAre(" org.example.Main.main(java.lang.String[]) (JIT) 64",
                          "  StubRoutines (call) (JIT) 64", "   start_thread (libc.so.6) 64",
                          " org.example.Cache.get(int)? (JIT) 7",
                          "  org.example.Main.main(java.lang.String[]) (JIT) 7",
                          "   StubRoutines (call) (JIT) 7", "    start_thread (libc.so.6) 7"));
  EXPECT_THAT(tree_of(report, "java.util.HashMap.put", TreeDirection::callees),
              ElementsAre(" java.util.HashMap.hash(java.lang.Object) (JIT) 40",
                          " entry_SYSCALL_64 ([kernel.kallsyms]) 9",
                          " java.util.HashMap.put(java.lang.Object,java.lang.Object) (JIT) 7"));
  const std::string text = report_with_trees(report, {}, {});
  EXPECT_THAT(text, HasSubstr("called by\n"));
  EXPECT_THAT(text, HasSubstr(" 90.14% org.example.Main.main(java.lang.String[]) (JIT)\n"));
  // Limits.
  const ReportTrees trees(report);
  EXPECT_EQ(trees.lines(0, {.direction = TreeDirection::callees, .max_lines = 2}).size(), 2u);
  for (const TreeLine& line :
       trees.lines(0, {.direction = TreeDirection::callees, .max_depth = 2})) {
    EXPECT_LE(line.depth, 2u);
  }
}

TEST(ReportText, TableInTheMannerOfPerf) {
  const Report report = build_report(test::sample_profile());
  const std::string text = report_text(report);
  EXPECT_THAT(text, HasSubstr("# Samples: 120 of event 'cpu-clock'\n"));
  EXPECT_THAT(text, HasSubstr("# Event count (approx.): 1200000000 ns\n"));
  EXPECT_THAT(text, HasSubstr("# Samples of all events: 123\n"));
  EXPECT_THAT(text, HasSubstr("# Other events (--event): page-faults\n"));
  EXPECT_THAT(text, HasSubstr("# Lost: 4\n"));
  EXPECT_THAT(text, HasSubstr("#  Total     Self   Samples  Tier"));
  EXPECT_THAT(text, HasSubstr("  59.17%   18.33%        71  c1-full,c2  jitdump   JIT"));
  EXPECT_THAT(text, HasSubstr("org.example.Cache.get(int)?\n"));
  EXPECT_THAT(text, HasSubstr("[unknown: no mapping of the process holds the address]\n"));
  EXPECT_THAT(text, Not(HasSubstr("\xff"))) << "nothing that a terminal would trip over";
  const std::string flat = report_text(build_report(test::sample_profile(), {.children = false}));
  EXPECT_THAT(flat, HasSubstr("#   Self   Samples"));
  EXPECT_THAT(flat, Not(HasSubstr("start_thread"))) << "never a leaf";
  const std::string top = report_text(report, {.max_rows = 3});
  EXPECT_THAT(top, HasSubstr("more rows\n"));
  const std::string none = report_text(build_report(Profile{}));
  EXPECT_THAT(none, HasSubstr("# Samples: 0"));
}

TEST(ReportJson, HeadAndRows) {
  std::istringstream lines(report_json(build_report(test::sample_profile())));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const Json head = Json::parse(line);
  EXPECT_EQ(head["type"], "profile");
  EXPECT_EQ(head["samples"], 120);
  EXPECT_EQ(head["lost"], 4);
  EXPECT_EQ(head["events"][1]["name"], "page-faults");
  uint64_t self = 0;
  size_t reasons = 0;
  while (std::getline(lines, line)) {
    const Json row = Json::parse(line);
    EXPECT_EQ(row["type"], "row");
    std::set<std::string> keys;
    for (const auto& [key, value] : row.items()) keys.insert(key);
    std::set<std::string> wanted{"type",  "method", "raw",    "dso",      "self",
                                 "total", "tier",   "source", "ambiguous"};
    if (row["method"] == "") wanted.insert("reason");
    EXPECT_EQ(keys, wanted);
    reasons += row.contains("reason") ? 1 : 0;
    self += row["self"].get<uint64_t>();
    EXPECT_LE(row["self"].get<uint64_t>(), row["total"].get<uint64_t>());
  }
  EXPECT_EQ(self, 120u);
  EXPECT_EQ(reasons, 2u);
}

TEST(ReportJson, LimitsOfRowsHoldAsInText) {
  const Report report = build_report(test::sample_profile());
  const auto rows = [&](const ReportTextOptions& options) {
    const std::string text = report_json(report, options);
    return static_cast<size_t>(std::ranges::count(text, '\n')) - 1;
  };
  EXPECT_EQ(rows({}), report.rows.size());
  EXPECT_EQ(rows({.max_rows = 2}), 2u);
  EXPECT_EQ(rows({.max_rows = 0}), 0u);
  const size_t half = rows({.min_percent = 50});
  EXPECT_GT(half, 0u);
  EXPECT_LT(half, report.rows.size());
  for (size_t i = 0; i < report.rows.size(); ++i) {
    EXPECT_EQ(report.rows[i].total.weight * 2 >= report.sum.weight, i < half) << i;
  }
}

TEST(Report, ALibrarysRowsAreThoseOfTheWholeReport) {
  const Report whole = build_report(test::sample_profile());
  for (const bool by_path : {false, true}) {
    ReportOptions options;
    options.dsos = DsoNames({by_path ? "/usr/lib/libc.so.6" : "libc.so.6"});
    const Report report = build_report(test::sample_profile(), options);
    ASSERT_FALSE(report.rows.empty());
    EXPECT_EQ(report.sum.samples, whole.sum.samples);
    for (const ReportRow& row : report.rows) {
      EXPECT_EQ(row.frame.dso, "libc.so.6");
      const ReportRow* same = find(whole, row.frame.method);
      ASSERT_NE(same, nullptr);
      EXPECT_EQ(row.total.samples, same->total.samples);
      EXPECT_EQ(row.self.samples, same->self.samples);
    }
    const ReportTrees trees(report);
    const ReportTrees all(whole);
    for (size_t row = 0; row < report.rows.size(); ++row) {
      const auto same = find(whole, report.rows[row].frame.method) - whole.rows.data();
      EXPECT_EQ(trees.text(row, {}), all.text(static_cast<size_t>(same), {}));
    }
  }
  ReportOptions options;
  options.keys = {ReportKey::source};
  options.dsos = DsoNames({"nothing.so"});
  EXPECT_TRUE(build_report(test::sample_profile(), options).rows.empty());
}

TEST(Report, PercentagesAreOfAllSamplesOrOfThoseShown) {
  Report report = build_report(test::sample_profile());
  report.filters = {"comm: java"};
  report.left_out = 200;
  report.others = {120, report.sum.weight};
  EXPECT_EQ(report.whole(), 2 * report.sum.weight);
  EXPECT_THAT(report_text(report), HasSubstr("# comm: java\n# Samples: 120 of"));
  EXPECT_THAT(report_text(report), HasSubstr("# Left out by filters: 200 samples\n"));
  EXPECT_THAT(report_text(report), HasSubstr("# Percentages: of 240 samples"));
  EXPECT_THAT(report_text(report), Not(HasSubstr("99.17%")));
  report.options.relative = true;
  EXPECT_EQ(report.whole(), report.sum.weight);
  EXPECT_THAT(report_text(report), Not(HasSubstr("Percentages")));
  EXPECT_THAT(report_text(report), HasSubstr("99.17%"));
}

TEST(Report, KeysOfPerf) {
  using enum ReportKey;
  EXPECT_THAT(*parse_report_keys("sym,symbol,method"), ElementsAre(method));
  EXPECT_THAT(*parse_report_keys("comm,pid,tid,cpu,srcline"),
              ElementsAre(comm, process, thread, cpu, srcline));
  EXPECT_FALSE(parse_report_keys(""));
  EXPECT_FALSE(parse_report_keys("comm,"));
  Profile profile = test::sample_profile();
  for (Group& group : profile.groups) group.cpu = 3;
  profile.groups.back().cpu = UINT32_MAX;
  for (Frame& frame : profile.frames) {
    frame.file = "a.c";
    frame.line = 7;
  }
  ReportOptions options;
  options.keys = {comm, cpu, srcline};
  const Report report = build_report(profile, options);
  uint64_t samples = 0;
  for (const ReportRow& row : report.rows) {
    EXPECT_FALSE(row.comm.empty());
    EXPECT_TRUE(row.cpu == "3" || row.cpu.empty());
    samples += row.total.samples;
  }
  EXPECT_EQ(samples, 120u);
  EXPECT_THAT(report_text(report), HasSubstr("CPU  Command"));
  EXPECT_THAT(report_text(report), HasSubstr("a.c:7\n"));
  EXPECT_THAT(report_json(report), HasSubstr(R"("cpu":3,"file":"a.c","line":7)"));
}

}  // namespace
}  // namespace jitscope
