// What patterns mean among the names that are there.
#include "code/pattern_settle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "code/inlined_copies.h"

namespace jitscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::string> kShop = {
    "java.util.HashMap.put(java.lang.Object,java.lang.Object)",
    "java.util.HashMap.putVal(int)",
    "java.util.HashMap.get(java.lang.Object)",
    "java.util.TreeMap.get(java.lang.Object)",
    "java.util.HashMap$Node.getKey()",
    "java.util.TreeMap$Node.getKey()",
    "java.util.HashMap$Node.next()",
    "com.shop.Order.total()",
    "com.till.Order.open()",
    "com.till.Order.close(int)",
    "com.till.Order.close(long)",
    "com.till.Till.Order()",
    "plain_function",
};

struct Answer {
  std::vector<std::string> matched;
  std::vector<std::string> remarks;
  Error error;
  bool settled = false;
};

Answer ask(std::string_view text, const std::vector<std::string>& displays = kShop) {
  Answer answer;
  std::vector<MethodName> names;
  for (const std::string& each : displays) names.push_back(method_name_of_display(each));
  std::vector<const MethodName*> pointers;
  for (const MethodName& name : names) pointers.push_back(&name);
  auto parsed = Pattern::parse(text);
  EXPECT_TRUE(parsed) << text;
  if (!parsed) return answer;
  auto remarks = settle_patterns({&*parsed, 1}, pointers);
  answer.settled = remarks.has_value();
  if (!remarks) {
    answer.error = remarks.error();
    return answer;
  }
  answer.remarks = *remarks;
  for (const MethodName& name : names) {
    if (!parsed->matches(name)) continue;
    answer.matched.push_back(name.display());
    MethodName loaded = name;  // as load events tell of it
    loaded.parameters.clear();
    loaded.has_parameters = false;
    std::ranges::replace(loaded.raw, '.', '/');
    EXPECT_TRUE(parsed->may_match(loaded)) << text;
  }
  return answer;
}

TEST(SettlePatterns, WholeNamesAreLeftAlone) {
  const Answer put = ask("java.util.HashMap.put");
  EXPECT_EQ(put.matched.size(), 1U);
  EXPECT_THAT(put.remarks, IsEmpty());
  EXPECT_EQ(ask("*.get").matched.size(), 2U);
  EXPECT_EQ(ask("plain_function").matched.size(), 1U);
}

TEST(SettlePatterns, TheLastPartsOfOneClass) {
  for (const std::string_view text :
       {"HashMap.put", "HashMap::put", "HashMap#put", "util/HashMap.put", "put", "util.HashMap.put",
        "HashMap.put(java.lang.Object,java.lang.Object)", "void HashMap.put", "put(*)",
        "HashMap.put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"}) {
    const Answer answer = ask(text);
    EXPECT_THAT(answer.matched, ElementsAre(kShop[0])) << text;
    EXPECT_THAT(answer.remarks, ElementsAre(HasSubstr("java.util.HashMap.put"))) << text;
  }
  EXPECT_THAT(ask("Node.next").matched, ElementsAre("java.util.HashMap$Node.next()"));
  EXPECT_THAT(ask("close").matched.size(), 2U) << "of one class, with any parameters";
  EXPECT_THAT(ask("close(int)").matched, ElementsAre("com.till.Order.close(int)"));
  EXPECT_THAT(ask("ashMap.put").matched, IsEmpty()) << "not in the middle of a part";
}

TEST(SettlePatterns, TheLastPartsOfSeveralClassesAreAnError) {
  const Answer get = ask("get");
  ASSERT_FALSE(get.settled);
  EXPECT_EQ(get.error.kind, ErrorKind::usage);
  EXPECT_THAT(get.error.hint, HasSubstr("java.util.HashMap.get, java.util.TreeMap.get"));
  EXPECT_THAT(get.error.hint, HasSubstr("'*.get'"));
  EXPECT_FALSE(ask("Node.getKey").settled);
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) many.push_back("p.T" + std::to_string(i) + ".f()");
  EXPECT_THAT(ask("f", many).error.hint, HasSubstr("and 94 more"));
  EXPECT_EQ(ask("*.f", many).matched.size(), 100U);
}

TEST(SettlePatterns, GlobsMeanMany) {
  EXPECT_EQ(ask("put*").matched.size(), 2U);
  EXPECT_EQ(ask("get*").matched.size(), 4U);
  EXPECT_EQ(ask("get?ey").matched.size(), 2U);
  EXPECT_EQ(ask("[HT]*Map.get").matched.size(), 2U);
  EXPECT_EQ(ask("HashMap.put*").matched.size(), 2U);
  EXPECT_EQ(ask("put*").remarks.size(), 1U);
  EXPECT_EQ(ask("java*").matched.size(), 7U) << "whole names come first";
}

TEST(SettlePatterns, AClassAloneIsAllItsMethods) {
  for (const std::string_view text :
       {"java.util.HashMap", "java/util/HashMap", "Ljava/util/HashMap;", "HashMap"}) {
    const Answer answer = ask(text);
    EXPECT_EQ(answer.matched.size(), 3U) << text;
    EXPECT_THAT(answer.remarks, ElementsAre(HasSubstr("3 known methods"))) << text;
  }
  EXPECT_EQ(ask("com.till.Order").matched.size(), 3U);
  EXPECT_THAT(ask("Order").matched, ElementsAre("com.till.Till.Order()")) << "a method comes first";
  const Answer two = ask("Node");
  ASSERT_FALSE(two.settled);
  EXPECT_THAT(two.error.hint, HasSubstr("java.util.HashMap$Node, java.util.TreeMap$Node"));
  EXPECT_EQ(ask("*.Node.*").matched.size(), 0U);
}

TEST(SettlePatterns, WhatMatchesNothingStaysAsItIs) {
  for (const std::string_view text : {"no.such.Thing", "\"put\"", "/nothing/", "x*y"}) {
    const Answer answer = ask(text);
    EXPECT_TRUE(answer.settled) << text;
    EXPECT_THAT(answer.matched, IsEmpty()) << text;
    EXPECT_THAT(answer.remarks, IsEmpty()) << text;
  }
}

TEST(SettlePatterns, ANameAsItStandsComesBeforeThePattern) {
  const std::vector<std::string> names = {"T.a*b(int)", "T.axb(int)", "T.get [x](int)", "T.q?(int)",
                                          "T.qq(int)"};
  EXPECT_THAT(ask("T.a*b", names).matched, ElementsAre("T.a*b(int)"));
  EXPECT_EQ(ask("T.a*b", names).remarks.size(), 1U);
  EXPECT_THAT(ask("T.q?", names).matched, ElementsAre("T.q?(int)"));
  EXPECT_THAT(ask("T.get [x]", names).matched, ElementsAre("T.get [x](int)"));
}

}  // namespace
}  // namespace jitscope
