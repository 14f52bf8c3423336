#include "runtimes/dotnet/dotnet_spelling.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace jitscope {
namespace {

TEST(DotnetSpelling, AsPeopleWriteIt) {
  for (const auto& [raw, shown] : {
           std::pair<std::string_view, std::string_view>{
               "System.Collections.Generic.List`1[System.__Canon]",
               "System.Collections.Generic.List<System.__Canon>"},
           {"System.Collections.Generic.Dictionary`2[System.__Canon,System.Int32]",
            "System.Collections.Generic.Dictionary<System.__Canon,System.Int32>"},
           {"A`1[B`2[C[],D[,]]]", "A<B<C[],D[,]>>"},
           {"System.StartupHookProvider+Part`1[System.Int32]",
            "System.StartupHookProvider+Part<System.Int32>"},
           {"valuetype [System.Runtime]System.ReadOnlySpan`1<char>,int32,class [B]C.D&",
            "System.ReadOnlySpan<char>,int32,C.D&"},
           {"!!0[],int32,int32,class System.Collections.Generic.IComparer`1<!!0>",
            "!!0[],int32,int32,System.Collections.Generic.IComparer<!!0>"},
           {"class [A]B`1<valuetype [C]D`1<class [E]F>>", "B<D<F>>"},
           {"string[0...,0...]", "string[0...,0...]"},
           {"", ""},
           {"Program", "Program"},
       }) {
    EXPECT_EQ(dotnet_spelling(raw), shown);
  }
}

// Names may be anything: obfuscators write what they like.
TEST(DotnetSpelling, WhatIsNoTypePassesAsItIs) {
  for (const std::string_view odd :
       {"A`1[B", "[", "<<", "x[y", "List`1[A<B]>", "class ", "`", "``", "[]", "[A]"}) {
    const std::string shown = dotnet_spelling(odd);
    EXPECT_LE(shown.size(), odd.size()) << odd;
  }
  EXPECT_EQ(dotnet_spelling("A`1[B"), "A`1[B");
  EXPECT_EQ(dotnet_spelling("x`"), "x`");
}

}  // namespace
}  // namespace jitscope
