// Which methods a set of patterns is about, now and as bodies come.
#include "probe/methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/probe/fake_source.h"

namespace jitscope {
namespace {

using test::code_body;
using test::method_name;
using test::script_name;
using testing::HasSubstr;

std::vector<Pattern> patterns(const std::vector<std::string>& texts) {
  auto parsed = parse_patterns(texts);
  EXPECT_TRUE(parsed);
  return parsed ? *parsed : std::vector<Pattern>{};
}

const auto put = method_name("java.util.HashMap", "put", "java.lang.Object,java.lang.Object");
const auto get = method_name("java.util.HashMap", "get", "java.lang.Object");
const auto value_of_int = method_name("java.lang.String", "valueOf", "int");
const auto value_of_char = method_name("java.lang.String", "valueOf", "char");
const auto stub = method_name("", "StubRoutines");

Snapshot snapshot() {
  Snapshot snapshot;
  snapshot.bodies = {code_body(0x1000, put, 1), code_body(0x2000, put, 2), code_body(0x3000, get),
                     code_body(0x4000, value_of_int), code_body(0x5000, value_of_char)};
  CodeBody routine = code_body(0x6000, stub);
  routine.tier = Tier::stub;
  snapshot.bodies.push_back(routine);
  return snapshot;
}

TEST(ParsePatterns, TheFirstBadOneIsTheError) {
  EXPECT_TRUE(parse_patterns({}));
  EXPECT_EQ(patterns({"a.b", "c*"}).size(), 2U);
  const auto bad = parse_patterns({"fine", "f(int"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::usage);
  EXPECT_FALSE(parse_patterns({""}));
}

TEST(SelectBodies, AllOrThoseThatMatch) {
  const Snapshot all = snapshot();
  EXPECT_EQ(select_bodies(all, {})->size(), 6U);
  EXPECT_TRUE(select_bodies(Snapshot{}, {})->empty());
  const auto two = select_bodies(all, patterns({"java.util.HashMap.put"}));
  ASSERT_TRUE(two);
  ASSERT_EQ(two->size(), 2U);
  EXPECT_EQ(two->at(0)->address, 0x1000U);
  EXPECT_EQ(two->at(1)->address, 0x2000U);
  const auto none = select_bodies(all, patterns({"java.util.HashMap.putt"}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  EXPECT_THAT(none.error().hint, HasSubstr("java.util.HashMap.put"));
}

TEST(SelectBodies, ANameAsItStandsComesBeforeThePattern) {
  Snapshot all = snapshot();
  all.bodies.push_back(code_body(0x7000, method_name("T", "a*b", "int")));
  all.bodies.push_back(code_body(0x8000, method_name("T", "axxb", "int")));
  std::vector<std::string> notes;
  const auto one = select_bodies(all, patterns({"T.a*b"}), {}, &notes);
  ASSERT_TRUE(one);
  ASSERT_EQ(one->size(), 1U);
  EXPECT_EQ(one->at(0)->address, 0x7000U);
  ASSERT_EQ(notes.size(), 1U) << "that another name was left out is said";
  EXPECT_EQ(select_bodies(all, patterns({"T.a**b"}))->size(), 2U);
  EXPECT_EQ(select_bodies(all, patterns({"T.axxb(*)"}))->size(), 1U);
}

TEST(SelectBodies, LoadedAndNotCompiledIsTheSameAnswerAsTraces) {
  const auto never = method_name("pkg.T", "never", "int");
  const LoadedMethods loaded = [&] { return MethodNameList{never, put}; };
  const auto none = select_bodies(snapshot(), patterns({"pkg.T.never"}), loaded);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  EXPECT_THAT(none.error().what, HasSubstr("pkg.T.never(int) is loaded, but not compiled yet"));
  MethodSet set(patterns({"pkg.T.never"}), 100);
  ASSERT_TRUE(set.select(snapshot(), MethodNameList{never, put}));
  ASSERT_EQ(set.remarks().size(), 1U);
  EXPECT_EQ(set.remarks()[0], "pkg.T.never(int) is loaded, but not compiled yet");
  // What is loaded is near as well.
  const auto typo = select_bodies(snapshot(), patterns({"pkg.T.nevr"}), loaded);
  ASSERT_FALSE(typo);
  EXPECT_THAT(typo.error().hint, HasSubstr("nearest: pkg.T.never"));
  MethodSet same(patterns({"pkg.T.nevr"}), 100);
  const Status status = same.select(snapshot(), MethodNameList{never, put});
  ASSERT_FALSE(status);
  EXPECT_EQ(to_string(status.error()), to_string(typo.error()));
}

TEST(SelectBodies, APatternThatMatchesNothingIsSaidBesideOthers) {
  std::vector<std::string> notes;
  const auto some =
      select_bodies(snapshot(), patterns({"java.util.HashMap.put", "no.such.Thing"}), {}, &notes);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->size(), 2U);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], HasSubstr("'no.such.Thing'"));
}

TEST(MethodSetTest, ANameAsItStandsComesBeforeThePattern) {
  Snapshot all;
  all.bodies = {code_body(1, method_name("T", "a*b", "int")),
                code_body(2, method_name("T", "axb", "int"))};
  MethodSet set(patterns({"T.a*b"}), 100);
  ASSERT_TRUE(set.select(all, {}));
  EXPECT_EQ(set.size(), 1U);
  EXPECT_EQ(set.index_of(code_body(3, method_name("T", "ayb", "int"))), MethodSet::npos);
  EXPECT_EQ(set.index_of(code_body(4, method_name("T", "a*b", "int"))), 0U);
  EXPECT_EQ(set.remarks().size(), 1U);
  EXPECT_TRUE(set.may_match("T", "a*b"));
  EXPECT_FALSE(set.may_match("T", "axb"));
}

TEST(MethodSetTest, ManyBodiesAreOneMethod) {
  MethodSet set(patterns({"java.util.HashMap.*"}), 100);
  ASSERT_TRUE(set.select(snapshot(), {}));
  ASSERT_EQ(set.size(), 2U);
  EXPECT_EQ(set.display(0), put->display());
  EXPECT_EQ(set.display(1), get->display());
  EXPECT_EQ(set.index_of(code_body(0x1000, put)), 0U);
  EXPECT_EQ(set.index_of(code_body(0x9000, get)), 1U);
  EXPECT_EQ(set.index_of(code_body(0x9000, value_of_int)), MethodSet::npos);
  EXPECT_FALSE(set.full());
  EXPECT_TRUE(set.unmatched().empty());
}

TEST(MethodSetTest, OverloadsAreMethodsOfTheirOwn) {
  MethodSet both(patterns({"java.lang.String.valueOf"}), 100);
  ASSERT_TRUE(both.select(snapshot(), {}));
  EXPECT_EQ(both.size(), 2U);
  MethodSet one(patterns({"java.lang.String.valueOf(int)"}), 100);
  ASSERT_TRUE(one.select(snapshot(), {}));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one.display(0), "java.lang.String.valueOf(int)");
  EXPECT_EQ(one.index_of(code_body(1, value_of_char)), MethodSet::npos);
}

TEST(MethodSetTest, LoadedMethodsCountWithoutABody) {
  const auto never = method_name("pkg.T", "never", "");
  MethodSet set(patterns({"pkg.T.*"}), 100);
  const std::vector loaded = {never, method_name("pkg.T", "never", ""), put};
  ASSERT_TRUE(set.select(snapshot(), loaded));
  ASSERT_EQ(set.size(), 1U);
  // Another object with the same name is the same method.
  EXPECT_EQ(set.index_of(code_body(1, method_name("pkg.T", "never", ""))), 0U);
}

TEST(MethodSetTest, RuntimeStubsAreNoMethods) {
  MethodSet set(patterns({"*"}), 100);
  ASSERT_TRUE(set.select(snapshot(), {}));
  EXPECT_EQ(set.size(), 4U);
  CodeBody routine = code_body(1, stub);
  routine.tier = Tier::stub;
  EXPECT_EQ(set.index_of(routine), MethodSet::npos);
}

TEST(MethodSetTest, NothingMatchesNamesTheNearest) {
  MethodSet set(patterns({"java.util.HashMap.ptu"}), 100);
  const Status status = set.select(snapshot(), {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::not_found);
  EXPECT_THAT(status.error().what, HasSubstr("'java.util.HashMap.ptu'"));
  EXPECT_THAT(status.error().hint, HasSubstr("java.util.HashMap.put"));
  MethodSet nothing_there(patterns({"x"}), 100);
  const Status empty = nothing_there.select({}, {});
  ASSERT_FALSE(empty);
  EXPECT_FALSE(empty.error().hint.empty());
}

TEST(MethodSetTest, OneOfTwoPatternsMayMatchNothing) {
  MethodSet set(patterns({"java.util.HashMap.put", "no.such.Thing"}), 100);
  ASSERT_TRUE(set.select(snapshot(), {}));
  EXPECT_EQ(set.size(), 1U);
  ASSERT_EQ(set.unmatched().size(), 1U);
  EXPECT_THAT(set.unmatched()[0], HasSubstr("'no.such.Thing'"));
}

TEST(MethodSetTest, NoPatternIsAnErrorAndNoCrash) {
  MethodSet set({}, 100);
  const Status status = set.select(snapshot(), {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::usage);
}

TEST(MethodSetTest, MoreThanTheMostIsAnErrorThatSaysHowMany) {
  MethodSet set(patterns({"*"}), 3);
  const Status status = set.select(snapshot(), {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::usage);
  EXPECT_THAT(status.error().what, HasSubstr("4 methods"));
  EXPECT_THAT(status.error().hint, HasSubstr("--max 4"));
  MethodSet enough(patterns({"*"}), 4);
  EXPECT_TRUE(enough.select(snapshot(), {}));
}

TEST(MethodSetTest, NewNamesAreAddedWhileThereIsRoom) {
  MethodSet set(patterns({"pkg.*"}), 2);
  Snapshot first;
  first.bodies = {code_body(1, method_name("pkg.A", "a"))};
  ASSERT_TRUE(set.select(first, {}));
  EXPECT_EQ(set.index_of(code_body(2, method_name("other.A", "a"))), MethodSet::npos);
  EXPECT_EQ(set.index_of(code_body(3, method_name("pkg.B", "b"))), 1U);
  EXPECT_FALSE(set.full());
  EXPECT_EQ(set.index_of(code_body(4, method_name("pkg.C", "c"))), MethodSet::npos);
  EXPECT_TRUE(set.full());
  EXPECT_EQ(set.size(), 2U);
  EXPECT_EQ(set.index_of(code_body(5, method_name("pkg.B", "b"))), 1U);
}

TEST(MethodSetTest, ANameWhoseObjectIsGoneIsNotMistakenForANewOne) {
  MethodSet set(patterns({"pkg.A.a"}), 100);
  Snapshot first;
  first.bodies = {code_body(1, method_name("pkg.A", "a"))};
  ASSERT_TRUE(set.select(first, {}));
  // Each object would get the address of the one before if nobody kept it.
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(set.index_of(code_body(1, method_name("pkg.B", "b"))), MethodSet::npos);
    EXPECT_EQ(set.index_of(code_body(1, method_name("pkg.A", "a"))), 0U);
  }
}

TEST(MayMatch, NamesAsHotspotSpellsThem) {
  const MethodSet exact(patterns({"java.util.HashMap.put"}), 100);
  EXPECT_TRUE(exact.may_match("java/util/HashMap", "put"));
  EXPECT_FALSE(exact.may_match("java/util/HashMap", "get"));
  EXPECT_FALSE(exact.may_match("java/util/TreeMap", "put"));
  const MethodSet glob(patterns({"*.HashMap.p*", "x::y"}), 100);
  EXPECT_TRUE(glob.may_match("java/util/HashMap", "putAll"));
  EXPECT_TRUE(glob.may_match("x", "y"));
  EXPECT_FALSE(glob.may_match("java/util/HashMap", "get"));
}

TEST(MayMatch, APatternWithParametersMayAlwaysMatch) {
  for (const char* text : {"java.util.HashMap.put(java.lang.Object,java.lang.Object)", "*.put(*)",
                           "java.util.HashMap.put()"}) {
    const MethodSet set(patterns({"no.such.Thing", text}), 100);
    EXPECT_TRUE(set.may_match("java/util/HashMap", "put")) << text;
  }
}

TEST(MayMatch, WhatWasCutOrCouldNotBeReadMayMatch) {
  const std::string whole(200, 'x');
  const MethodSet set(patterns({"pkg." + whole + ".m", "T." + whole}), 100);
  const std::string cut = ("pkg/" + whole).substr(0, 127);
  EXPECT_TRUE(set.may_match(cut, "m"));
  EXPECT_TRUE(set.may_match("T", whole.substr(0, 127)));
  EXPECT_TRUE(set.may_match("", ""));
  EXPECT_FALSE(set.may_match(cut.substr(0, 126), "m"));
}

}  // namespace
}  // namespace jitscope
