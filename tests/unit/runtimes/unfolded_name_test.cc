// Names that stand for several methods, and those that only look so.
#include "runtimes/hotspot/unfolded_name.h"
#include "runtimes/all_runtimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace jitscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(UnfoldedName, ChainsOfMapAndPerfMapAgent) {
  EXPECT_THAT(unfolded_parts(Runtime::hotspot,
                             "Lcom/shop/Order;::total->Lcom/shop/Cart;::sum->LItem;::price"),
              ElementsAre("Lcom/shop/Order;::total", "Lcom/shop/Cart;::sum", "LItem;::price"));
  EXPECT_THAT(unfolded_parts(Runtime::hotspot, "com.shop.Order::total->com.shop.Item::<init>"),
              ElementsAre("com.shop.Order::total", "com.shop.Item::<init>"));
  EXPECT_THAT(unfolded_parts(Runtime::hotspot, "a/B::<init>->a/C::f(ILjava/lang/String;)"),
              ElementsAre("a/B::<init>", "a/C::f(ILjava/lang/String;)"));
  EXPECT_THAT(unfolded_parts(Runtime::hotspot, "a.B::f(B.java:3)->a.C$D::g(C.java:4)"),
              ElementsAre("a.B::f(B.java:3)", "a.C$D::g(C.java:4)"));
  EXPECT_THAT(unfolded_parts(Runtime::hotspot, "LItem;::price in LOrder;::total"),
              ElementsAre("LOrder;::total", "LItem;::price"));
  EXPECT_THAT(unfolded_parts(Runtime::hotspot, "LFoo;::even (number)->LBar;::f"),
              ElementsAre("LFoo;::even (number)", "LBar;::f"));
}

TEST(UnfoldedName, WhatOnlyLooksSo) {
  for (const char* raw : {"Lcom/shop/Order;::total", "std::unique_ptr<A>::operator->",
                          "std::operator->", "A::operator->() const", "A::f->", "->A::f",
                          "A::f->->B::g", "A::f -> B::g", "f->g", "A::f->g", "A<B->C>::f",
                          "auto A::f()::{lambda()#1}::operator()() -> int", "LFoo;::this in that",
                          "StubRoutines->x", "long T.f(int)", "a.B::f in a.C::g in a.D::h", ""}) {
    EXPECT_THAT(unfolded_parts(Runtime::hotspot, raw), IsEmpty()) << raw;
  }
  // Others have such names of their own.
  for (const Runtime runtime : {Runtime::unknown, Runtime::v8, Runtime::dotnet, Runtime::erlang,
                                Runtime::php, Runtime::mono}) {
    EXPECT_THAT(unfolded_parts(runtime, "LA;::f->LB;::g"), IsEmpty());
  }
}

TEST(UnfoldedName, DepthIsBounded) {
  std::string name = "LA;::f";
  for (int i = 0; i < 100; ++i) name += "->LA;::f";
  EXPECT_EQ(unfolded_parts(Runtime::hotspot, name).size(), 101U);
  for (int i = 0; i < 1000; ++i) name += "->LA;::f";
  EXPECT_THAT(unfolded_parts(Runtime::hotspot, name), IsEmpty());
}

}  // namespace
}  // namespace jitscope
