// Names in readable form, and names made to blow up.
#include "symbolize/demangle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jitscope {
namespace {

TEST(Demangle, ReadableOrAsItIs) {
  EXPECT_EQ(demangle("_ZN8jitscope8demangleEv"), "jitscope::demangle()");
  EXPECT_EQ(demangle("main"), "main");
  EXPECT_EQ(demangle("_Z"), "_Z");
  EXPECT_EQ(demangle("_ZN"), "_ZN");
  EXPECT_EQ(demangle("i"), "i");  // a mangled type, but no symbol
  EXPECT_EQ(demangle(""), "");
  EXPECT_EQ(demangle("_ZN3foo3barEi.cold"), "foo::bar(int) [clone .cold]");
}

TEST(Demangle, ShortAsPerfWritesThem) {
  EXPECT_EQ(demangle_short("_ZN4node5StartEiPPc"), "node::Start");
  EXPECT_EQ(demangle_short("_ZN3foo3barEi.cold"), "foo::bar");
  EXPECT_EQ(demangle_short("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back");
  EXPECT_EQ(demangle_short("_ZTI3Foo"), "typeinfo for Foo");
  EXPECT_EQ(demangle_short("main"), "main");
  EXPECT_EQ(demangle_short(""), "");
}

TEST(Demangle, RustOfBothKinds) {
  EXPECT_EQ(demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core::fmt::Write::write_fmt");
  EXPECT_EQ(demangle("_ZN30_$LT$alloc..string..String$GT$4push17h0123456789abcdefE"),
            "<alloc::string::String>::push");
  EXPECT_EQ(demangle("_RNvC6_123foo3bar"), "123foo::bar");
  EXPECT_EQ(demangle_short("_RNvC7mycrate3foo"), "mycrate::foo");
  // 17 characters that are no hash: C++.
  EXPECT_EQ(demangle("_ZN3foo17h0123456789abcdeEv"), "_ZN3foo17h0123456789abcdeEv");
  EXPECT_EQ(demangle("_ZN3foo3barEv"), "foo::bar()");
}

// Each parameter is a pair of the one before.
std::string doubled(size_t times) {
  std::string name = "_Z1fSt4pairIiiE";
  for (size_t i = 0; i < times; ++i) {
    const std::string before(1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
    name += "S_IS" + before + "_S" + before + "_E";
  }
  return name;
}

TEST(Demangle, ANameThatWouldDoubleAndDoubleStaysAsItIs) {
  EXPECT_THAT(demangle(doubled(1)), testing::StartsWith("f(std::pair<int, int>, "));
  EXPECT_GT(demangle(doubled(5)).size(), 1000U);
  EXPECT_EQ(demangle(doubled(34)), doubled(34));  // about a terabyte
  EXPECT_EQ(demangle_short(doubled(34)), "f");    // its parameters are not asked for
  // As the argument of a template it is part of the short name too.
  const std::string inside = "_Z1fI" + doubled(34).substr(4) + "Evv";
  EXPECT_EQ(demangle_short(inside), inside);
}

TEST(Demangle, NestingEndsWithoutHarm) {
  for (const char* const part :
       {"N", "I", "P", "F", "A1_", "1a", "L", "X", "T_", "Dp", "cv", "B"}) {
    std::string name = "_Z";
    std::string rust = "_R";
    for (int i = 0; i < 5000; ++i) {
      name += part;
      rust += part;
    }
    for (const std::string& text :
         {name, "_ZN1a" + name.substr(2) + "E", rust, "_RNv" + rust.substr(2)}) {
      EXPECT_FALSE(demangle(text).empty());
      EXPECT_FALSE(demangle_short(text).empty());
    }
  }
}

TEST(Demangle, BytesThatAreNoText) {
  const std::string with_zero("_ZN3foo\0barEv", 13);
  EXPECT_EQ(demangle(with_zero), with_zero);
  EXPECT_EQ(demangle("_Z\xff\xfe"), "_Z\xff\xfe");
  const std::string long_name = "_Z" + std::string(1U << 20U, 'x');
  EXPECT_EQ(demangle(long_name), long_name);
}

}  // namespace
}  // namespace jitscope
