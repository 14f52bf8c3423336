#include "code/inlined_copies.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

constexpr uint32_t kNone = CodeScopes::kNone;

// main calls f at two places; f calls g; one place was written twice.
CodeScopes example() {
  return {{{"A.main()", "A.java"}, {"A.f(int)", "A.java"}, {"B.g()", "B.java"}},
          {{kNone, 0, 3, 10},
           {0, 1, 0, 20},
           {0, 1, 5, 22},
           {2, 2, 1, 70},
           {kNone, 0, 9, 11},
           {4, 1, 7, 0},
           {kNone, 0, 3, 10},  // the first again
           {6, 1, 0, 20}},
          {{0, 8, 0, true},
           {8, 16, 1, true},
           {16, 20, 2, true},
           {20, 32, 3, true},
           {40, 48, 5, false},
           {48, 50, 7, true}}};
}

TEST(InlinedCopies, EachCallPathIsACopy) {
  const auto copies = inlined_copies(example(), [](uint32_t method) { return method == 1; });
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].method, 1U);
  EXPECT_EQ(copies[0].callers, std::vector<uint32_t>{0});
  EXPECT_EQ(copies[0].lines, (std::vector<uint32_t>{20, 22}));
  EXPECT_EQ(copies[0].ranges, 4U);  // g's too, and the scope that was written twice
  EXPECT_EQ(copies[0].bytes, 8U + 4U + 12U + 2U);
  EXPECT_TRUE(copies[0].exact);
  EXPECT_EQ(copies[1].callers, std::vector<uint32_t>{4});
  EXPECT_TRUE(copies[1].lines.empty());
  EXPECT_EQ(copies[1].bytes, 8U);
  EXPECT_FALSE(copies[1].exact);
}

TEST(InlinedCopies, CallersFromTheBodyOn) {
  const auto copies = inlined_copies(example(), [](uint32_t method) { return method == 2; });
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].callers, (std::vector<uint32_t>{0, 2}));
}

TEST(InlinedCopies, TheBodyItselfIsNotInlined) {
  EXPECT_TRUE(inlined_copies(example(), [](uint32_t method) { return method == 0; }).empty());
  EXPECT_TRUE(inlined_copies({}, [](uint32_t) { return true; }).empty());
}

TEST(InlinedCopies, AMethodInlinedIntoItselfIsACopyEachTime) {
  const CodeScopes scopes{
      {{"A.f()", ""}}, {{kNone, 0, 1, 1}, {0, 0, 1, 1}, {1, 0, 1, 1}}, {{0, 8, 2, false}}};
  const auto copies = inlined_copies(scopes, [](uint32_t) { return true; });
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].callers.size(), 2U);
  EXPECT_EQ(copies[1].callers.size(), 1U);
}

TEST(MethodNameOfDisplay, TakesApartWhatDisplayWrote) {
  for (const MethodName& name :
       {MethodName{"java.util.Map$Entry", "put", "java.lang.Object,int[]", "", "", true},
        MethodName{"A", "<init>", "", "", "", true}, MethodName{"", "f", "int", "", "", true},
        MethodName{"a.Main$$Lambda+<hidden>", "apply", "", "", "", true},
        MethodName{"a.B", "run", "", "", "", false},
        MethodName{"a.B", "even (number)", "int", "", "", true},
        MethodName{"a.B (c)", "x) y", "p.Q (r)", "", "", true}}) {
    const MethodName again = method_name_of_display(name.display());
    EXPECT_EQ(again.type, name.type);
    EXPECT_EQ(again.function, name.function);
    EXPECT_EQ(again.parameters, name.parameters);
    EXPECT_EQ(again.has_parameters, name.has_parameters);
    EXPECT_EQ(again.display(), name.display());
  }
}

}  // namespace
}  // namespace jitscope
