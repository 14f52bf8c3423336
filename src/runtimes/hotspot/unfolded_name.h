// The names of a perf map that stand for several methods: those of `jitscope map` and
// perf-map-agent when they unfold what a JVM's compiler inlined:
//
//   Lcom/shop/Order;::total->Lcom/shop/Cart;::sum->Lcom/shop/Item;::price    --unfold-all
//   Lcom/shop/Item;::price in Lcom/shop/Order;::total                        --unfold
//
// No method of a JVM has `>` in its name but <init> and <clinit> (JVMS 4.2.2), and every part has
// to be spelled as those tools spell a method, `CLASS::METHOD`: so nothing else is taken for a
// chain, least of all C++'s operator-> or a type of Rust. Pure text.
#pragma once

#include <string_view>
#include <vector>

#include "code/code_body.h"

namespace jitscope {

// Outermost first; empty when the name is that of one method.
[[nodiscard]] std::vector<std::string_view> unfolded_java_parts(std::string_view raw);

// "com.shop.Order::total", "Lcom/shop/Order;::total(I)", "…::total(Order.java:12)".
[[nodiscard]] bool is_java_map_name(std::string_view text);

}  // namespace jitscope
