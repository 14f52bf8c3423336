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
}

TEST(Glob, OneCharacterAndSets) {
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_TRUE(glob_match("a?c", "a?c"));
  EXPECT_TRUE(glob_match("a?c",
                         "a\xc3\xa4"
                         "c"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_TRUE(glob_match("[a-cx]1", "b1"));
  EXPECT_TRUE(glob_match("[a-cx]1", "x1"));
  EXPECT_FALSE(glob_match("[a-cx]1", "d1"));
  EXPECT_TRUE(glob_match("[!a-c]1", "d1"));
  EXPECT_FALSE(glob_match("[^a-c]1", "b1"));
  EXPECT_TRUE(glob_match("*[0-9]", "put12"));
  EXPECT_TRUE(glob_match("[a-]", "-"));
  EXPECT_TRUE(glob_match("int[]", "int[]")) << "an array";
  EXPECT_FALSE(glob_match("int[]", "int"));
  EXPECT_TRUE(glob_match("x[ab", "x[ab")) << "no set";
  EXPECT_TRUE(glob_match("*[Symbol.iterator]", "get [Symbol.iterator]")) << "itself too";
  EXPECT_TRUE(is_glob("a?"));
  EXPECT_TRUE(is_glob("a[b]"));
  EXPECT_FALSE(is_glob("f(int[])"));
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

TEST(PatternMatch, SpellingsOfOtherTools) {
  const MethodName name = java("a.b.C", "m", "int,java.lang.String,long[][]");
  for (const std::string_view good :
       {"a/b/C.m", "a/b/C::m", "a/b/C/m", "La/b/C;::m", "La/b/C;.m", "a/b/C.m(*)", "a/b/*.m",
        "a.b.C.m(ILjava/lang/String;[[J)V", "a/b/C.m(ILjava/lang/String;[[J)Ljava/lang/Object;",
        "La/b/C;::m(ILjava/lang/String;[[J)V", "void a.b.C.m(int, java.lang.String, long[][])",
        "public static final a.b.D[] a.b.C.m(int,java.lang.String,long[][])", "public void a.b.C.m",
        "a.b.?.m", "a.b.[A-D].m", "a.b.C.m(int,*,long[][])"}) {
    EXPECT_TRUE(matches(good, name)) << good;
  }
  for (const std::string_view bad :
       {"a/b/C.n", "a.b.C.m(I)V", "a.b.C.m(ILjava/lang/String;[J)V", "int a.b.C.m(int)", "b/C.m",
        "a.b.C.m(ILjava/lang/String;[[J)X", "word a.b.C.m", "a.b.[E-Z].m"}) {
    EXPECT_FALSE(matches(bad, name)) << bad;
  }
  EXPECT_TRUE(matches("a.C.f()V", java("a.C", "f", "")));
  EXPECT_TRUE(matches("a.C$$Lambda/0x1.f", java("a.C$$Lambda/0x1", "f", "")));
}

TEST(PatternMatch, RegularExpressions) {
  const MethodName put = java("java.util.HashMap", "putVal", "int,java.lang.Object");
  for (const std::string_view good :
       {"/HashMap\\.put/", "/put[A-Z]/", "/^java\\.util\\./", "/Object\\)$/", "/(?i)hashmap/"}) {
    EXPECT_TRUE(matches(good, put)) << good;
  }
  for (const std::string_view bad : {"/^put/", "/HashMap#put/", "/putval/"}) {
    EXPECT_FALSE(matches(bad, put)) << bad;
  }
  EXPECT_TRUE(matches("/server\\.js:1/", script("handle", "/srv/server.js:12:7")));
  EXPECT_FALSE(Pattern::parse("/put/")->exact());
  EXPECT_TRUE(Pattern::parse("/put/")->may_match(put));
  for (const std::string_view wrong : {"/put(/", "/a**/", "/(?=x)/", "/(a)\\1/", "/x{100000}/"}) {
    const Result<Pattern> parsed = Pattern::parse(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
  }
}

// Time would be exponential, or the stack too deep, in engines that go back.
TEST(PatternMatch, HostileNamesDoNotHoldARegularExpressionUp) {
  const MethodName name = java("T", std::string(100'000, 'a'), "");
  EXPECT_FALSE(matches("/(a*)*b/", name));
  EXPECT_FALSE(matches("/(a|aa)+$x/", name));
  EXPECT_TRUE(matches("/T\\.(a|b)+/", name));
  EXPECT_FALSE(matches("/T.b/", java("T", "\xff\xfe\xc0", "")));
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

// JVMS 4.2.2 forbids `. ; [ /` in names of methods, and nothing else.
TEST(PatternMatch, NamesWithParenthesesAndStars) {
  const MethodName even = java("T", "even (number)", "int");
  for (const std::string_view good :
       {"T.even (number)", "T.even (number)(int)", "T.even (number)(*)", "T#even (number)",
        "T::even (number)(int)", "T.even (*)", "T.even*", "T.even (*)(int)", "*(number)*",
        "\"T.even (number)\"", "\"T.even (number)(int)\"", "*.even (number)", "T.even*(int)"}) {
    EXPECT_TRUE(matches(good, even)) << good;
  }
  for (const std::string_view bad : {"T.even", "T.even(number)", "T.even (number)(long)",
                                     "T.even (int)", "\"T.even*\"", "\"T.even\"", "T.even()"}) {
    EXPECT_FALSE(matches(bad, even)) << bad;
  }
  const MethodName many = java("T", "a*b: c#d::e, f", "p.Q,int");
  EXPECT_TRUE(matches("T.a*b: c#d::e, f", many));
  EXPECT_TRUE(matches("T.a*b: c#d::e, f(p.Q, int)", many));
  EXPECT_TRUE(matches("T.*c#d*", many));
  EXPECT_FALSE(matches("T.*c#d*(int)", many));
}

TEST(PatternMatch, UnbalancedNamesGoInQuotes) {
  const MethodName name = java("T", "a)b((", "int");
  EXPECT_FALSE(Pattern::parse("T.a)b(("));
  EXPECT_TRUE(matches("\"T.a)b((\"", name));
  EXPECT_TRUE(matches("\"T.a)b(((int)\"", name));
  EXPECT_FALSE(matches("\"T.a)b(((long)\"", name));
  EXPECT_EQ(Pattern::parse("\"T.a)b\"")->text(), "T.a)b");
  EXPECT_TRUE(Pattern::parse("\"a*\"")->exact());
}

TEST(PatternMatch, TakenLiterally) {
  auto pattern = Pattern::parse("T.a*b");
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->ambiguous());
  EXPECT_TRUE(pattern->names(java("T", "a*b", "int")));
  EXPECT_FALSE(pattern->names(java("T", "axb", "int")));
  EXPECT_TRUE(pattern->matches(java("T", "axb", "int")));
  pattern->take_literally();
  EXPECT_FALSE(pattern->ambiguous());
  EXPECT_TRUE(pattern->matches(java("T", "a*b", "int")));
  EXPECT_FALSE(pattern->matches(java("T", "axb", "int")));
  EXPECT_FALSE(Pattern::parse("*")->ambiguous()) << "all methods";
  EXPECT_FALSE(Pattern::parse("a.b")->ambiguous());
}

// Load events have no parameters.
TEST(PatternMatch, MayMatchWithoutParameters) {
  MethodName name;
  name.type = "p.T";
  name.function = "even (number)";
  name.raw = "p/T.even (number)";
  for (const std::string_view may :
       {"p.T.even (number)", "p.T.even (number)(int)", "p.T.even (*)", "*", "(int)", "p.T.*(int)",
        "\"p.T.even (number)(int)\"", "p/T.even (number)(I)V"}) {
    EXPECT_TRUE(Pattern::parse(may)->may_match(name)) << may;
  }
  for (const std::string_view not_at_all :
       {"p.T.odd (number)", "p.T.even", "\"p.T.*\"", "q.*(*)"}) {
    EXPECT_FALSE(Pattern::parse(not_at_all)->may_match(name)) << not_at_all;
  }
}

TEST(PatternMatch, ScriptFunctionsWithParentheses) {
  const MethodName even = script("even (number)", "/srv/a.js:1:2");
  EXPECT_TRUE(matches("even (number)", even));
  EXPECT_TRUE(matches("a.js:even (number)", even));
  EXPECT_TRUE(matches("even*", even));
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

TEST(Nearest, TheObviousNameComesFirst) {
  std::vector<MethodName> methods = {
      java("com.example.Shop", "mix", "int"),
      java("com.example.Shop$Item", "price", ""),
      java("com.other.Stop", "max", "int"),
      java("com.example.Ship", "fix", "int"),
      java("java.lang.Math", "max", "int,int"),
      java("java.lang.Math", "min", "int,int"),
      java("a.b.C", "mixed", ""),
      java("org.mixer.Mixer", "run", ""),
      java("com.example.Till", "even (number)", "int"),
  };
  for (int i = 0; i < 500; ++i) methods.push_back(java("x.Y" + std::to_string(i), "mix", "long"));
  std::vector<const MethodName*> names;
  for (const MethodName& method : methods) names.push_back(&method);
  const auto first = [&](std::string_view pattern) {
    const auto found = nearest_names(pattern, names);
    return found.empty() ? std::string() : found.front();
  };
  for (const std::string_view wrong :
       {"com.example.shop.mix", "com.example.Shop.MIX", "COM.EXAMPLE.SHOP.MIX", "Shop.mix",
        "Shop.Mix", "com.example.mix", "example.mix", "com.example.Shop.mx",
        "com.example.Shop.mixx", "com.exmple.Shop.mix", "com.example.Shopp.mix",
        "com.other.Shop.mix", "com/example/Shop/mix", "com.example.Shop", "example.Shop.mix",
        "com.example.Shop:mix"}) {
    EXPECT_EQ(first(wrong), "com.example.Shop.mix") << wrong;
  }
  EXPECT_EQ(first("com.example.Shop.mix(long)"), "com.example.Shop.mix(int)");
  EXPECT_EQ(first("com.example.Shop.Item.price"), "com.example.Shop$Item.price");
  EXPECT_EQ(first("Item.price"), "com.example.Shop$Item.price");
  EXPECT_EQ(first("com.example.Till.even (numbers)(int)"), "com.example.Till.even (number)(int)");
  EXPECT_EQ(first("com.example.Till.Even (number)"), "com.example.Till.even (number)(int)");
}

TEST(Nearest, Scripts) {
  const std::vector<MethodName> methods = {script("handle", "/srv/app/server.js:12:7"),
                                           script("handle", "/srv/app/other.js:2:7"),
                                           script("", "/srv/app/server.js:1:1")};
  std::vector<const MethodName*> names;
  for (const MethodName& method : methods) names.push_back(&method);
  EXPECT_EQ(nearest_names("other.js:handel", names).front(), "handle /srv/app/other.js:2:7");
  EXPECT_EQ(nearest_names("hanlde", names).front(), "handle /srv/app/server.js:12:7");
  EXPECT_EQ(nearest_names("handle /srv/app/other.js:99:1", names).front(),
            "handle /srv/app/other.js:2:7");
  EXPECT_EQ(nearest_names("other.js:handle:2", names).front(), "handle /srv/app/other.js:2:7");
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
