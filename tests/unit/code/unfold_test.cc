// Unfolding against what perf-map-agent's users know, and its faults mended.
#include "code/unfold.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

MethodName java(std::string type, std::string function, std::string parameters) {
  MethodName name;
  name.type = std::move(type);
  name.function = std::move(function);
  name.parameters = std::move(parameters);
  name.has_parameters = true;
  return name;
}

// a() at 0x10..0x60; b inlined at a:11, c at b:21 and, by a:12, at d:41.
CodeScopes scopes() {
  CodeScopes out;
  out.methods = {{"p.A.a(int,java.lang.String[])", "p/A.java"},
                 {"p.B.b()", "p/B.java"},
                 {"p.C.c(long)", "p/C.java"},
                 {"p.D.d()", ""}};
  constexpr uint32_t none = CodeScopes::kNone;
  out.scopes = {{none, 0, 1, 10}, {none, 0, 2, 11}, {1, 1, 3, 21}, {2, 2, 4, 31},
                {none, 0, 5, 12}, {4, 3, 6, 41},    {5, 2, 4, 31}};
  out.ranges = {{0x10, 0x20, 0, false},
                {0x20, 0x30, 2, false},
                {0x30, 0x40, 3, false},
                {0x40, 0x50, 6, false},
                {0x50, 0x60, 0, false}};
  return out;
}

using Ranges = std::vector<UnfoldedRange>;

TEST(Unfold, NoneIsOneLineABody) {
  const CodeScopes inside = scopes();
  EXPECT_EQ(
      unfold(0x1000, 0x70, java("p.A", "a", "int,java.lang.String[]"), &inside, Unfold::none, {}),
      (Ranges{{0x1000, 0x70, "p.A::a"}}));
}

TEST(Unfold, SimpleNamesTheInnermost) {
  const CodeScopes inside = scopes();
  EXPECT_EQ(unfold(0x1000, 0x70, java("p.A", "a", ""), &inside, Unfold::simple, {}),
            (Ranges{{0x1000, 0x20, "p.A::a"},
                    {0x1020, 0x10, "p.B::b"},
                    {0x1030, 0x20, "p.C::c"},
                    {0x1050, 0x20, "p.A::a"}}));
}

TEST(Unfold, InlinedSaysWhere) {
  const CodeScopes inside = scopes();
  EXPECT_EQ(unfold(0x1000, 0x70, java("p.A", "a", ""), &inside, Unfold::inlined, {}),
            (Ranges{{0x1000, 0x20, "p.A::a"},
                    {0x1020, 0x10, "p.B::b in p.A::a"},
                    {0x1030, 0x20, "p.C::c in p.A::a"},
                    {0x1050, 0x20, "p.A::a"}}));
}

TEST(Unfold, AChangeOfCallersStartsANewRange) {
  const CodeScopes inside = scopes();
  EXPECT_EQ(unfold(0x1000, 0x70, java("p.A", "a", ""), &inside, Unfold::all, {}),
            (Ranges{{0x1000, 0x20, "p.A::a"},
                    {0x1020, 0x10, "p.A::a->p.B::b"},
                    {0x1030, 0x10, "p.A::a->p.B::b->p.C::c"},
                    {0x1040, 0x10, "p.A::a->p.D::d->p.C::c"},
                    {0x1050, 0x20, "p.A::a"}}));
}

TEST(Unfold, PositionsAreThoseOfTheRange) {
  const CodeScopes inside = scopes();
  NameStyle style;
  style.source_position = true;
  EXPECT_EQ(unfold(0x1000, 0x60, java("p.A", "a", ""), &inside, Unfold::all, style),
            (Ranges{{0x1000, 0x10, "p.A::a"},
                    {0x1010, 0x10, "p.A::a(A.java:10)"},
                    {0x1020, 0x10, "p.A::a(A.java:11)->p.B::b(B.java:21)"},
                    {0x1030, 0x10, "p.A::a(A.java:11)->p.B::b(B.java:21)->p.C::c(C.java:31)"},
                    {0x1040, 0x10, "p.A::a(A.java:12)->p.D::d(line:41)->p.C::c(C.java:31)"},
                    {0x1050, 0x10, "p.A::a(A.java:10)"}}));
}

TEST(Unfold, Spellings) {
  const MethodName name = java("p.A", "a", "int,java.lang.String[][],boolean");
  NameStyle style;
  const auto spelled = [&] { return unfold(0, 1, name, nullptr, Unfold::none, style)[0].name; };
  EXPECT_EQ(spelled(), "p.A::a");
  style.signature = true;
  EXPECT_EQ(spelled(), "p.A::a(int,java.lang.String[][],boolean)");
  style.dotted_class = false;
  EXPECT_EQ(spelled(), "p/A::a(I[[Ljava/lang/String;Z)");
  style.clean_class = false;
  EXPECT_EQ(spelled(), "Lp/A;::a(I[[Ljava/lang/String;Z)");
  style.signature = false;
  EXPECT_EQ(spelled(), "Lp/A;::a");
}

TEST(Unfold, SpellingsOfNamesWithParentheses) {
  const MethodName name = java("p.A", "even (number)", "int");
  NameStyle style;
  const auto spelled = [&] { return unfold(0, 1, name, nullptr, Unfold::none, style)[0].name; };
  EXPECT_EQ(spelled(), "p.A::even (number)");
  style.signature = true;
  style.clean_class = false;
  style.dotted_class = false;
  EXPECT_EQ(spelled(), "Lp/A;::even (number)(I)");
}

TEST(Unfold, StubsAndOtherRuntimesKeepTheirNames) {
  MethodName stub;
  stub.raw = "I2C/C2I adapters(0x1)";
  EXPECT_EQ(unfold(5, 2, stub, nullptr, Unfold::all, {}),
            (Ranges{{5, 2, "I2C/C2I adapters(0x1)"}}));
  MethodName node;
  node.function = "handle";
  node.location = "/srv/app.js:1:2";
  EXPECT_EQ(unfold(5, 2, node, nullptr, Unfold::simple, {})[0].name, "handle /srv/app.js:1:2");
}

TEST(Unfold, RangesBeyondTheBodyAreCut) {
  const CodeScopes inside = scopes();
  const Ranges ranges = unfold(0x1000, 0x28, java("p.A", "a", ""), &inside, Unfold::simple, {});
  EXPECT_EQ(ranges, (Ranges{{0x1000, 0x20, "p.A::a"}, {0x1020, 0x8, "p.B::b"}}));
  EXPECT_TRUE(unfold(0x1000, 0, java("p.A", "a", ""), &inside, Unfold::all, {}).empty());
}

}  // namespace
}  // namespace jitscope
