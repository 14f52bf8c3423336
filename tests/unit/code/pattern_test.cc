#include "code/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace jitscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

MethodName java(std::string type, std::string function, std::string parameters) {
  MethodName name;
  name.raw = "void " + type + "." + function + "(" + parameters + ")";
  name.type = std::move(type);
  name.function = std::move(function);
  name.parameters = std::move(parameters);
  name.has_parameters = true;
  return name;
}

MethodName script(std::string function, std::string location) {
  MethodName name;
  name.raw = "JS:*" + function + " " + location;
  name.function = std::move(function);
  name.location = std::move(location);
  return name;
}

MethodName plain(std::string raw) {
  MethodName name;
  name.function = raw;
  name.raw = std::move(raw);
  return name;
}

bool matches(std::string_view pattern, const MethodName& name) {
  const Result<Pattern> parsed = Pattern::parse(pattern);
  EXPECT_TRUE(parsed.has_value()) << pattern;
  return parsed && parsed->matches(name);
}

TEST(Glob, StarMatchesAnyRun) {
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*c", "ac"));
  EXPECT_TRUE(glob_match("a*c", "abcbc"));
  EXPECT_TRUE(glob_match("*b*b*", "xbyb"));
  EXPECT_FALSE(glob_match("*b*b*", "xby"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_FALSE(glob_match("a?c", "abc"));
  EXPECT_TRUE(glob_match("a?c", "a?c"));
}

TEST(Glob, ManyStarsDoNotExplode) {
  std::string glob;
  for (int i = 0; i < 200; ++i) glob += "*a";
  EXPECT_FALSE(glob_match(glob + "b", std::string(4096, 'a')));
  EXPECT_TRUE(glob_match(glob, std::string(4096, 'a')));
}

TEST(PatternParse, RefusesNonsense) {
  for (const std::string_view text : {"", "  ", "f(", "f)", "f(a))(", ")("}) {
    const Result<Pattern> parsed = Pattern::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
    EXPECT_FALSE(parsed.error().hint.empty());
  }
}

TEST(PatternParse, KnowsWhetherItIsExact) {
  EXPECT_TRUE(Pattern::parse("a.b")->exact());
  EXPECT_FALSE(Pattern::parse("a.*")->exact());
  EXPECT_EQ(Pattern::parse(" a.b ")->text(), "a.b");
}

TEST(PatternMatch, SeparatorsMeanTheSame) {
  const MethodName put = java("java.util.HashMap", "put", "java.lang.Object,java.lang.Object");
  EXPECT_TRUE(matches("java.util.HashMap.put", put));
  EXPECT_TRUE(matches("java.util.HashMap::put", put));
  EXPECT_TRUE(matches("java.util.HashMap#put", put));
  EXPECT_TRUE(matches("*.put", put));
  EXPECT_TRUE(matches("*HashMap.*", put));
  EXPECT_FALSE(matches("put", put));
  EXPECT_FALSE(matches("HashMap.put", put));
  EXPECT_FALSE(matches("java.util.HashMap.pu", put));
  EXPECT_FALSE(matches("java.util.HashMap.putt", put));
}

TEST(PatternMatch, Parameters) {
  const MethodName name = java("T", "f", "int,long");
  EXPECT_TRUE(matches("T.f(int,long)", name));
  EXPECT_TRUE(matches("T.f(int, long)", name));
  EXPECT_TRUE(matches("T.f(*)", name));
  EXPECT_TRUE(matches("T.f(int,*)", name));
  EXPECT_TRUE(matches("*(*)", name));
  EXPECT_FALSE(matches("T.f()", name));
  EXPECT_FALSE(matches("T.f(int)", name));
  EXPECT_TRUE(matches("T.g()", java("T", "g", "")));
  EXPECT_TRUE(matches("T.g(*)", java("T", "g", "")));
  EXPECT_TRUE(matches("void T.f(int,long)", name)) << "the raw name";
}

TEST(PatternMatch, SpecialJavaNames) {
  const MethodName init = java("a.B$C", "<init>", "");
  EXPECT_TRUE(matches("a.B$C.<init>", init));
  EXPECT_TRUE(matches("a.B$C.<init>()", init));
  const MethodName lambda = java("a.B", "lambda$main$0", "int");
  EXPECT_TRUE(matches("a.B.lambda$*", lambda));
}

TEST(PatternMatch, ScriptFunctions) {
  const MethodName handle = script("handle", "/srv/app/server.js:12:7");
  for (const std::string_view good :
       {"handle", "hand*", "server.js:handle*", "server.js:handle", "app/server.js:handle",
        "/srv/app/server.js:handle", "server.js:12", "server.js:12:7", "server.js:*",
        "handle /srv/app/server.js:12:7", "JS:*handle /srv/app/server.js:12:7",
        "handle *server.js:*", "*.js:handle", "handle(*)"}) {
    EXPECT_TRUE(matches(good, handle)) << good;
  }
  for (const std::string_view bad :
       {"handl", "erver.js:handle", "server.js:1", "server.js:7", "server.js", "other.js:handle",
        "lib/server.js:handle", "*server*", "handle(int)", "server.js:12:8"}) {
    EXPECT_FALSE(matches(bad, handle)) << bad;
  }
}

TEST(PatternMatch, ScriptFunctionsWithoutAName) {
  const MethodName nameless = script("", "file:///srv/app/server.mjs:1:20");
  EXPECT_EQ(nameless.display(), "(anonymous) file:///srv/app/server.mjs:1:20");
  EXPECT_TRUE(matches("(anonymous)", nameless));
  EXPECT_TRUE(matches("server.mjs:(anonymous)", nameless));
  EXPECT_TRUE(matches("server.mjs:1", nameless));
  EXPECT_TRUE(matches("*", nameless));
  EXPECT_TRUE(matches(nameless.display(), nameless));
  EXPECT_FALSE(matches("handle", nameless));
}

TEST(PatternMatch, SchemesInPaths) {
  const MethodName list = script("listOnTimeout", "node:internal/timers:540:25");
  EXPECT_TRUE(matches("node:internal/timers:listOnTimeout", list));
  EXPECT_TRUE(matches("timers:listOnTimeout", list));
  EXPECT_TRUE(matches("node:internal/timers:540", list));
  EXPECT_TRUE(matches("node:internal/timers:*", list));
}

TEST(PatternMatch, PrivateMethods) {
  EXPECT_TRUE(matches("#step", script("#step", "/a.js:1:1")));
  EXPECT_TRUE(matches("a.js:#step", script("#step", "/a.js:1:1")));
}

TEST(PatternMatch, ErlangSpelling) {
  MethodName map = plain("$lists:map/2");
  map.type = "lists";
  map.function = "map/2";
  EXPECT_TRUE(matches("lists:map/2", map));
  EXPECT_TRUE(matches("lists.map/*", map));
  EXPECT_TRUE(matches("*:map/2", map));
  EXPECT_FALSE(matches("lists:map", map));
}

TEST(PatternMatch, RawNamesWithBlanksAtTheEnd) {
  MethodName name = plain("JS:*f ");
  name.function = "f";
  EXPECT_TRUE(matches("JS:*f ", name));
}

TEST(PatternMatch, NamesWithoutParameters) {
  EXPECT_TRUE(matches("hot0", plain("hot0")));
  EXPECT_TRUE(matches("stub()", plain("stub()")));
  EXPECT_TRUE(matches("stub*", plain("stub()")));
  EXPECT_TRUE(matches("hot0(*)", plain("hot0")));
  EXPECT_FALSE(matches("hot0(int)", plain("hot0")));
  EXPECT_FALSE(matches("hot0()", plain("hot0")));
}

TEST(Names, Display) {
  EXPECT_EQ(java("T", "f", "int,long").display(), "T.f(int,long)");
  EXPECT_EQ(java("T", "f", "int,long").short_name(), "T.f");
  EXPECT_EQ(java("T", "g", "").display(), "T.g()");
  EXPECT_EQ(plain("x").display(), "x");
  MethodName raw_only;
  raw_only.raw = "???";
  EXPECT_EQ(raw_only.display(), "???");
  EXPECT_EQ(script("f", "/a.js:1:2").short_name(), "f /a.js:1:2");
}

TEST(Nearest, TyposAndMissingPackages) {
  const std::vector<MethodName> methods = {
      java("java.util.HashMap", "get", "java.lang.Object"),
      java("java.util.HashMap", "put", "java.lang.Object,java.lang.Object"),
      java("java.util.TreeMap", "put", "java.lang.Object,java.lang.Object"),
      java("java.lang.String", "indexOf", "int"),
      java("java.lang.String", "indexOf", "int,int"),
      java("java.util.concurrent.ConcurrentHashMap", "putVal", "int"),
      java("com.example.Orders", "process", "int"),
  };
  std::vector<const MethodName*> names;
  for (const MethodName& method : methods) names.push_back(&method);

  EXPECT_EQ(nearest_names("HashMap.put", names).front(), "java.util.HashMap.put");
  EXPECT_EQ(nearest_names("java.util.HashMap.putt", names).front(), "java.util.HashMap.put");
  EXPECT_EQ(nearest_names("java.utl.HashMap.put", names).front(), "java.util.HashMap.put");
  EXPECT_EQ(nearest_names("java.util.HahsMap.put", names).front(), "java.util.HashMap.put");
  EXPECT_EQ(nearest_names("java.util.hashmap.put", names).front(), "java.util.HashMap.put");
  EXPECT_EQ(nearest_names("Orders::proces*", names).front(), "com.example.Orders.process");
  EXPECT_EQ(nearest_names("Orders", names).front(), "com.example.Orders.process");
  EXPECT_EQ(nearest_names("put", names).front(), "java.util.HashMap.put");
  EXPECT_THAT(nearest_names("String.indexof", names), ElementsAre("java.lang.String.indexOf"));
  EXPECT_EQ(nearest_names("String.indexOf(long)", names, 2).size(), 2U);
  EXPECT_THAT(nearest_names("zzzzzzzzzz", names), IsEmpty());
  EXPECT_LE(nearest_names("put", names, 1).size(), 1U);
}

TEST(Nearest, Scripts) {
  const std::vector<MethodName> methods = {script("handle", "/srv/app/server.js:12:7"),
                                           script("handle", "/srv/app/other.js:2:7"),
                                           script("", "/srv/app/server.js:1:1")};
  std::vector<const MethodName*> names;
  for (const MethodName& method : methods) names.push_back(&method);
  EXPECT_EQ(nearest_names("other.js:handel", names).front(), "handle /srv/app/other.js:2:7");
  EXPECT_EQ(nearest_names("hanlde", names).front(), "handle /srv/app/server.js:12:7");
}

TEST(Nearest, LongAndManyNamesAreBounded) {
  std::vector<MethodName> methods;
  for (int i = 0; i < 20000; ++i) {
    methods.push_back(java("p.q.Type" + std::to_string(i), "method" + std::string(500, 'x'), ""));
  }
  methods.push_back(java("p.q.Wanted", "here", ""));
  std::vector<const MethodName*> names;
  for (const MethodName& method : methods) names.push_back(&method);
  EXPECT_THAT(nearest_names("q.Wantd.here", names), ElementsAre("p.q.Wanted.here"));
}

}  // namespace
}  // namespace jitscope
