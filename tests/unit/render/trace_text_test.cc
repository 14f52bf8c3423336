// Lines of a trace: every kind of value, stacks, and the summary with its documented keys.
#include "render/trace_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace jitscope {
namespace {

using Json = nlohmann::json;
using Kind = ArgumentValue::Kind;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::vector<ArgumentValue> every_kind() {
  return {{Kind::unknown, "double", 0, 0},
          {Kind::integer, "long", INT64_MIN, 0},
          {Kind::integer, "int", 42, 0},
          {Kind::boolean, "boolean", 1, 0},
          {Kind::boolean, "boolean", 0, 0},
          {Kind::character, "char", 'x', 0},
          {Kind::character, "char", '\n', 0},
          {Kind::character, "char", 0xe9, 0},
          {Kind::character, "char", 0x20ac, 0},
          {Kind::character, "char", 0xd800, 0},
          {Kind::address, "java.lang.String", 0, 0xabc0},
          {Kind::address, "java.lang.Object", 0, 0}};
}

CallLine line_of(std::span<const ArgumentValue> arguments) {
  CallLine line;
  line.time_ns = monotonic_ns();
  line.pid = 12;
  line.tid = 13;
  line.method = "pkg.Type.method(int)";
  line.short_name = "pkg.Type.method";
  line.arguments = arguments;
  return line;
}

// What stands behind the time of day.
std::string text_of(const CallLine& line) {
  std::string out;
  append_call_text(out, line);
  EXPECT_TRUE(out.find(' ') != std::string::npos);
  return out.substr(out.find(' ') + 1);
}
Json json_of(const CallLine& line) {
  std::string out;
  append_call_json(out, line);
  EXPECT_THAT(out, EndsWith("\n"));
  EXPECT_EQ(std::ranges::count(out, '\n'), 1);
  return Json::parse(out);
}
std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(CallText, ShowsEveryKindOfValue) {
  const auto values = every_kind();
  EXPECT_EQ(text_of(line_of(values)),
            "12/13 pkg.Type.method(double ?, -9223372036854775808, 42, true, false, 'x', '\\x0a', "
            "'\xc3\xa9', '\xe2\x82\xac', '\xef\xbf\xbd', java.lang.String 0xabc0, java.lang.Object "
            "null)\n");
  EXPECT_EQ(text_of(line_of({})), "12/13 pkg.Type.method()\n");
}

TEST(CallText, BeginsWithTheTimeOfDay) {
  std::string out;
  append_call_text(out, line_of({}));
  EXPECT_THAT(out, testing::MatchesRegex("[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\\.[0-9]{6} 12/13 .*\n"));
}

TEST(CallText, NamesOfStrangersStayOnTheirLine) {
  const std::vector<ArgumentValue> values = {{Kind::address, "Evil\n\x1b[2J", 0, 16},
                                             {Kind::unknown, "Evil\nToo", 0, 0}};
  CallLine line = line_of(values);
  line.short_name = "a;b\nc\x1b[31m";
  Stack stack;
  stack.frames = {{0x10, "frame\nname", "lib\nx.so", {}}, {0x20, {}, "lib\x1b.so", "no\nsymbol"}};
  stack.end = "complete";
  line.stack = &stack;
  const std::string text = text_of(line);
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(CallText, StackFramesNamedAndUnnamed) {
  CallLine line = line_of({});
  Stack stack;
  stack.frames = {{0x7f10, "java.lang.Thread.run()", "HotSpot c2", {}},
                  {0x7f20, {}, "libx.so", "no symbol"}};
  stack.end = "the copied part of the stack ends";
  line.stack = &stack;
  EXPECT_EQ(text_of(line),
            "12/13 pkg.Type.method()\n"
            "        7f10 java.lang.Thread.run() (HotSpot c2)\n"
            "        7f20 [unknown: no symbol] (libx.so)\n"
            "        [the copied part of the stack ends]\n");
  stack.end = "complete";
  EXPECT_THAT(text_of(line), Not(HasSubstr("[complete]")));
}

TEST(CallJson, HasTheDocumentedKeys) {
  const auto values = every_kind();
  CallLine line = line_of(values);
  const Json call = json_of(line);
  EXPECT_THAT(keys_of(call),
              testing::IsSupersetOf({"type", "time_ns", "pid", "tid", "method", "args", "stack"}));
  EXPECT_EQ(call["type"], "call");
  EXPECT_EQ(call["time_ns"], line.time_ns);
  EXPECT_EQ(call["pid"], 12);
  EXPECT_EQ(call["tid"], 13);
  EXPECT_EQ(call["method"], "pkg.Type.method(int)");
  EXPECT_EQ(call["stack"], Json::array());
  ASSERT_EQ(call["args"].size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_THAT(keys_of(call["args"][i]), testing::ElementsAre("type", "value"));
    EXPECT_EQ(call["args"][i]["type"], std::string(values[i].type));
  }
  const auto value = [&](size_t i) { return call["args"][i]["value"]; };
  EXPECT_TRUE(value(0).is_null());
  EXPECT_EQ(value(1).get<int64_t>(), INT64_MIN);
  EXPECT_EQ(value(2), 42);
  EXPECT_EQ(value(3), true);
  EXPECT_EQ(value(4), false);
  EXPECT_EQ(value(5), "x");
  EXPECT_EQ(value(6), "\n");
  EXPECT_EQ(value(7), "\xc3\xa9");
  EXPECT_EQ(value(8), "\xe2\x82\xac");
  EXPECT_EQ(value(9), "\xef\xbf\xbd");
  EXPECT_EQ(value(10), "0xabc0");
  EXPECT_EQ(value(11), "0x0");
}

TEST(CallJson, StackFramesNamedAndUnnamed) {
  CallLine line = line_of({});
  line.method = "a\"b\n;c";
  Stack stack;
  stack.frames = {{0x7f10, "f\"\n", "m", {}}, {0x7f20, {}, "libx.so", "no symbol"}};
  stack.end = "complete";
  line.stack = &stack;
  const Json call = json_of(line);
  EXPECT_EQ(call["method"], "a\"b\n;c");
  ASSERT_EQ(call["stack"].size(), 2U);
  EXPECT_EQ(call["stack"][0], (Json{{"address", "0x7f10"}, {"name", "f\"\n"}, {"module", "m"}}));
  EXPECT_EQ(call["stack"][1], (Json{{"address", "0x7f20"},
                                    {"name", nullptr},
                                    {"reason", "no symbol"},
                                    {"module", "libx.so"}}));
  EXPECT_EQ(call["stack_end"], "complete");
}

TEST(Start, SaysHowManyBodiesAreProbedByWhat) {
  TraceStart start;
  start.backend = "trampoline";
  EXPECT_EQ(backends_text(start), " by trampoline");
  start.sites_by = {{"breakpoint", 1}};
  EXPECT_EQ(backends_text(start), " by breakpoint");
  start.sites_by = {{"trampoline", 2}, {"breakpoint", 1}};
  EXPECT_EQ(backends_text(start), ": 2 by trampoline, 1 by breakpoint");
  EXPECT_EQ(Json::parse(started_json(start))["sites_by"],
            (Json{{"trampoline", 2}, {"breakpoint", 1}}));
}

TEST(Summary, SaysHowLongNewBodiesMayHaveRunUnseen) {
  TraceReport report;
  MethodReport method;
  method.method = "T.m";
  method.bodies_alive = method.bodies_probed = 2;
  method.unseen_ns = 31'000'000;
  SiteReport site;
  site.backend = "trampoline";
  site.placed = true;
  site.since_ns = site.until_ns = 1;
  method.sites = {site, site};
  method.sites[1].unseen_ns = 31'000'000;
  report.methods = {method};
  const std::string text = summary_text(report);
  EXPECT_THAT(text, HasSubstr("then freed or replaced\n"));
  EXPECT_THAT(text, HasSubstr("then freed or replaced; unseen for up to 31.0 ms before\n"));
  EXPECT_THAT(text, HasSubstr("coverage: 2 of 2 compiled bodies probed, new ones unseen for up to "
                              "31.0 ms in all\n"));
  const Json json = Json::parse(summary_json(report));
  EXPECT_EQ(json["sites"][0]["unseen_ns"], 0);
  EXPECT_EQ(json["sites"][1]["unseen_ns"], 31'000'000);
  EXPECT_EQ(json["coverage"]["unseen_ns"], 31'000'000);
}

TraceReport report() {
  TraceReport report;
  report.stopped = std::chrono::microseconds(1500);
  report.longest_stop = std::chrono::microseconds(900);
  report.notes = {"a note"};
  MethodReport method;
  method.method = "pkg.T.\"m\"\n;(int)";
  method.calls = 10;
  method.lost = 3;
  method.shown = 5;
  method.stale = 1;
  method.redispatched = 2;
  method.since_ns = 100;
  method.bodies_alive = 3;
  method.bodies_probed = 1;
  method.not_seen = {"interpreted calls"};
  SiteReport placed;
  placed.backend = "trampoline";
  placed.address = 0x1000;
  placed.tier = Tier::c2;
  placed.placed = true;
  placed.since_ns = 100;
  placed.until_ns = 5'000'100;
  placed.counts = {10, 5, 3, 1, 2};
  SiteReport refused;
  refused.address = 0x2000;
  refused.tier = Tier::c1_full;
  refused.reason = "runtime \"stub\"";
  method.sites = {placed, refused, refused};
  report.methods = {method};
  MethodReport nothing;
  nothing.method = "pkg.T.never";
  nothing.interpreted_only = true;
  report.methods.push_back(nothing);
  return report;
}

TEST(SummaryJson, OneLineAMethodWithTheDocumentedKeys) {
  const std::string out = summary_json(report());
  ASSERT_EQ(std::ranges::count(out, '\n'), 2);
  const Json first = Json::parse(out.substr(0, out.find('\n')));
  EXPECT_THAT(keys_of(first), testing::IsSupersetOf({"type", "method", "calls", "lost", "since_ns",
                                                     "stopped_us", "sites", "coverage"}));
  EXPECT_EQ(first["type"], "summary");
  EXPECT_EQ(first["method"], "pkg.T.\"m\"\n;(int)");
  EXPECT_EQ(first["calls"], 10);
  EXPECT_EQ(first["lost"], 3);
  EXPECT_EQ(first["shown"], 5);
  EXPECT_EQ(first["not_shown"], 2);
  EXPECT_EQ(first["since_ns"], 100);
  EXPECT_EQ(first["stopped_us"], 1500.0);
  ASSERT_EQ(first["sites"].size(), 1U);
  EXPECT_THAT(keys_of(first["sites"][0]), testing::IsSupersetOf({"address", "tier", "backend"}));
  EXPECT_EQ(first["sites"][0]["address"], "0x1000");
  EXPECT_EQ(first["sites"][0]["tier"], "c2");
  EXPECT_EQ(first["sites"][0]["backend"], "trampoline");
  const Json& coverage = first["coverage"];
  EXPECT_EQ(coverage["bodies_alive"], 3);
  EXPECT_EQ(coverage["bodies_probed"], 1);
  EXPECT_EQ(coverage["stale"], 1);
  EXPECT_EQ(coverage["redispatched"], 2);
  EXPECT_EQ(coverage["not_seen"], Json::array({"interpreted calls"}));
  ASSERT_EQ(coverage["refused"].size(), 2U);
  EXPECT_EQ(coverage["refused"][0]["reason"], "runtime \"stub\"");
  const Json second = Json::parse(out.substr(out.find('\n') + 1));
  EXPECT_EQ(second["coverage"]["interpreted_only"], true);
  EXPECT_EQ(second["sites"], Json::array());
  EXPECT_EQ(summary_json({}), "");
}

TEST(SummaryText, NamesFitATerminal) {
  TraceReport report;
  MethodReport method;
  method.method = "java.util.HashMap.put(java.lang.Object, java.lang.Object)";
  method.calls = 5;
  report.methods = {method};
  report.counted_only = true;
  EXPECT_THAT(summary_text(report), HasSubstr(method.method + ": 5 calls, lost 0\n"));
  EXPECT_THAT(summary_text(report, 60), HasSubstr("java.util.HashMap.put(...): 5 calls, lost 0\n"));
  EXPECT_THAT(summary_text(report, 40), HasSubstr("java.u...shMap.put(...): 5 calls, lost 0\n"));
}

TEST(SummaryText, SaysWhatItSawAndWhatNot) {
  const std::string text = summary_text(report());
  EXPECT_THAT(text, HasSubstr("pkg.T.\"m\"\\x0a;(int): 10 calls, lost 3, 5 shown, 2 not\n"));
  EXPECT_THAT(text,
              HasSubstr("0x1000  c2          trampoline 10 calls, watched 5.0 ms, then freed or "
                        "replaced\n"));
  EXPECT_THAT(text, HasSubstr("2 bodies not probed: runtime \"stub\"\n"));
  EXPECT_THAT(text, HasSubstr("coverage: 1 of 3 compiled bodies probed\n"));
  EXPECT_THAT(text, HasSubstr("2 calls arrived at a replaced body"));
  EXPECT_THAT(text, HasSubstr("1 hit met another body"));
  EXPECT_THAT(text, HasSubstr("no compiled body at the end: the method is interpreted only"));
  EXPECT_THAT(text, HasSubstr("not seen: interpreted calls"));
  EXPECT_THAT(text, HasSubstr("note: a note\n"));
  EXPECT_THAT(text, EndsWith("stopped 1.5 ms in all, 900 us at most at a time\n"));
}

TEST(SummaryText, NotesHoldNamesOfStrangersToo) {
  TraceReport report;
  report.notes = {"no method matches 'x'; nearest: a\x1b[2Jb\nc"};
  const std::string text = summary_text(report);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(StartedJson, HasItsKeys) {
  TraceStart start;
  start.methods = 2;
  start.bodies = 5;
  start.sites = 4;
  start.backend = "breakpoint";
  start.sites_by = {{"breakpoint", 4}};
  start.notes = {"with \"quotes\"\n"};
  start.stopped = std::chrono::nanoseconds(1234);
  const std::string out = started_json(start);
  EXPECT_EQ(std::ranges::count(out, '\n'), 1);
  EXPECT_EQ(Json::parse(out), (Json{{"type", "started"},
                                    {"methods", 2},
                                    {"bodies", 5},
                                    {"sites", 4},
                                    {"backend", "breakpoint"},
                                    {"sites_by", {{"breakpoint", 4}}},
                                    {"stopped_us", 1.2},
                                    {"notes", {"with \"quotes\"\n"}}}));
}

TEST(DurationText, PicksAUnit) {
  EXPECT_EQ(duration_text(std::chrono::nanoseconds(0)), "0 us");
  EXPECT_EQ(duration_text(std::chrono::microseconds(900)), "900 us");
  EXPECT_EQ(duration_text(std::chrono::microseconds(1500)), "1.5 ms");
  EXPECT_EQ(duration_text(std::chrono::milliseconds(1200)), "1.2 s");
  EXPECT_EQ(duration_text(std::chrono::hours(1)), "3600.0 s");
}

}  // namespace
}  // namespace jitscope
