// Symbols that every tool takes, distinct whatever the methods are called.
#include "probe/symbol_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/utf8.h"
#include "tests/unit/probe/fake_source.h"

namespace jitscope {
namespace {

using test::method_name;
using test::script_name;
using testing::ElementsAre;

using Names = std::vector<std::shared_ptr<const MethodName>>;

std::vector<SymbolName> names_of(const Names& names) {
  std::vector<const MethodName*> pointers;
  for (const auto& name : names) pointers.push_back(name.get());
  auto result = symbol_names(pointers);
  EXPECT_EQ(result.size(), names.size());
  std::set<std::string> distinct;
  for (const SymbolName& each : result) {
    EXPECT_TRUE(distinct.insert(each.symbol).second) << each.symbol;
    EXPECT_FALSE(each.symbol.empty());
    EXPECT_EQ(each.symbol.find_first_of(":;@+%\\ ()\"'`|&,[]{}=?*!~^#\n\t"), std::string::npos)
        << each.symbol;
    for (std::string_view rest = each.symbol; !rest.empty();) {
      const size_t length = utf8_length(rest);
      EXPECT_NE(length, 0U) << each.symbol;
      if (length == 0) break;
      rest.remove_prefix(length);
    }
  }
  return result;
}
std::vector<std::string> symbols_of(const Names& names) {
  std::vector<std::string> symbols;
  for (SymbolName& each : names_of(names)) symbols.push_back(std::move(each.symbol));
  return symbols;
}

TEST(SymbolNames, DottedWithTheSignatureAsAlias) {
  const auto names = names_of({method_name("java.util.HashMap", "put", "java.lang.Object,int[]")});
  EXPECT_EQ(names[0].symbol, "java.util.HashMap.put");
  EXPECT_EQ(names[0].alias, "java.util.HashMap.put(java.lang.Object,int[])");
  EXPECT_EQ(names_of({method_name("a.B", "c")})[0].alias, "");
}

TEST(SymbolNames, OverloadsCarryTheirParameters) {
  EXPECT_THAT(
      symbols_of({method_name("S", "of", "int"), method_name("S", "of", "int,java.lang.String[][]"),
                  method_name("S", "of", ""), method_name("S", "other", "int")}),
      ElementsAre("S.of-int", "S.of-int-java.lang.String-array-array", "S.of-none", "S.other"));
}

TEST(SymbolNames, ScriptFunctionsByTheirFile) {
  EXPECT_THAT(symbols_of({script_name("handle", "/srv/app/server.js:12:7"),
                          script_name("", "/srv/app/server.js:30:1"),
                          script_name("", "/srv/app/server.js:40:1"),
                          script_name("next", "node:internal/timers:5:6"),
                          script_name("get a", "file:///srv/a b.mjs:1:2")}),
              ElementsAre("server.js.handle", "server.js.anonymous", "server.js.anonymous.2",
                          "timers.next", "a_b.mjs.get_a"));
}

TEST(SymbolNames, CollisionsAfterCleaningGetANumber) {
  EXPECT_THAT(symbols_of({method_name("a", "b c"), method_name("a", "b_c"), method_name("a", "b;c"),
                          method_name("a", "b_c.2")}),
              ElementsAre("a.b_c", "a.b_c.2", "a.b_c.3", "a.b_c.2.2"));
}

TEST(SymbolNames, NamesOfSpecialMethodsStay) {
  EXPECT_THAT(symbols_of({method_name("T", "<init>"), method_name("T$Inner", "lambda$run$0"),
                          method_name("T$$Lambda/0x7f", "m")}),
              ElementsAre("T.<init>", "T$Inner.lambda$run$0", "T$$Lambda/0x7f.m"));
}

TEST(SymbolNames, Utf8StaysAndOtherBytesGo) {
  EXPECT_THAT(symbols_of({method_name("caf\xc3\xa9", "\xe2\x82\xac"), method_name("a\xff", "\xc3"),
                          method_name("a", "\xed\xa0\x80"), method_name("x", "m", "\xc3\xa9"),
                          method_name("x", "m", "")}),
              ElementsAre("caf\xc3\xa9.\xe2\x82\xac", "a_._", "a.___", "x.m-\xc3\xa9", "x.m-none"));
}

TEST(SymbolNames, NothingThatATerminalObeys) {
  EXPECT_THAT(symbols_of({method_name("a",
                                      "\xc2\x9b"
                                      "2J"),
                          method_name("b",
                                      "\xe2\x80\xae"
                                      "x")}),
              ElementsAre("a._2J", "b._x"));
  EXPECT_EQ(names_of({method_name("T", "\xe2\x80\xae", "int")})[0].alias, "");
}

TEST(SymbolNames, NothingUsableIsStillAName) {
  const auto symbols =
      symbols_of({method_name("", ""), script_name("", ""), method_name("", ";"),
                  method_name("", "\n"), method_name("x", "m", ","), method_name("x", "m", "[")});
  EXPECT_EQ(symbols.size(), 6U);
}

TEST(SymbolNames, AnAliasIsPrintable) {
  for (const std::string& bad :
       {std::string("a\nb"), std::string("a\0b", 3), std::string("\x1b[2J")}) {
    EXPECT_EQ(names_of({method_name("T", bad, "int")})[0].alias, "");
  }
  EXPECT_EQ(names_of({method_name("T", "\xe2\x82\xac", "int")})[0].alias, "T.\xe2\x82\xac(int)");
}

TEST(SymbolNames, ManyOfTheSameName) {
  Names names(300, script_name("", "/a.js:1:1"));
  EXPECT_EQ(symbols_of(names).back(), "a.js.anonymous.300");
}

}  // namespace
}  // namespace jitscope
