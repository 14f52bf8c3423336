// -F of script: which words it takes, and which combinations make no sense. Its layout is compared
// with perf's own in tests/e2e/filters_test.py.
#include "render/script_fields.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

using enum ScriptField;

ScriptFields fields(std::string_view text) {
  auto parsed = ScriptFields::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : ScriptFields();
}

TEST(ScriptFields, AreThoseThatWereAskedFor) {
  const ScriptFields some = fields("comm,ip,sym");
  for (const ScriptField each : {comm, ip, sym}) {
    EXPECT_TRUE(some.has(each));
    EXPECT_TRUE(some.has(each, true));
  }
  for (const ScriptField each : {pid, tid, cpu, time, period, event, trace, symoff, dso, srcline}) {
    EXPECT_FALSE(some.has(each));
  }
}

TEST(ScriptFields, OrAreChangesOfTheDefault) {
  const ScriptFields more = fields("+srcline,-dso,-comm");
  EXPECT_TRUE(more.has(srcline));
  EXPECT_FALSE(more.has(dso));
  EXPECT_FALSE(more.has(comm));
  EXPECT_TRUE(more.has(period));
  EXPECT_FALSE(more.has(period, true));
  EXPECT_FALSE(more.has(trace));
  EXPECT_TRUE(more.has(trace, true));
  const ScriptFields offsets = fields("-sym");
  EXPECT_FALSE(offsets.has(symoff));
  EXPECT_TRUE(offsets.has(ip));
}

TEST(ScriptFields, OtherTextsAreRefused) {
  for (const char* text :
       {"", ",", "foo", "+foo", "comm,+ip", "+ip,comm", "sw:comm", "Comm", "-", "+", "comm,sym",
        "comm,dso", "comm,srcline", "ip,symoff", "-ip,+srcline", "comm ,ip"}) {
    const auto parsed = ScriptFields::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage) << text;
  }
}

perfdata::Header header_of(uint32_t type, uint64_t sample_type) {
  perfdata::Header header;
  header.events.emplace_back();
  header.events[0].name = "event";
  header.events[0].type = type;
  header.events[0].sample_type = sample_type;
  return header;
}

TEST(ScriptFields, WhatSamplesLackIsSaidWhereItWasAskedFor) {
  constexpr uint64_t bare = 1U << 0U | 1U << 1U | 1U << 2U;  // ip, tid, time
  const perfdata::Header header = header_of(1, bare);
  EXPECT_TRUE(fields("comm,time,ip,sym").check(header));
  EXPECT_TRUE(fields("+srcline").check(header));
  EXPECT_FALSE(fields("comm,cpu").check(header));
  EXPECT_FALSE(fields("+cpu").check(header));
  EXPECT_FALSE(fields("period").check(header));
  EXPECT_FALSE(fields("trace").check(header));
  EXPECT_TRUE(fields("trace").check(header_of(2, bare)));
  EXPECT_TRUE(fields("trace,event").check(header));
  EXPECT_TRUE(fields("comm,cpu").check({}));  // a pipe's: not known yet
}

}  // namespace
}  // namespace jitscope
