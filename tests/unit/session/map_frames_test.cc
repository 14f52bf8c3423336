// Frames out of a perf map's lines: names that stand for several methods, and code that no line
// has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/session.h"
#include "support/perfdata_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using perfdata::test::PerfDataBuilder;
using perfdata::test::Stamp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kPid = 0x7fff0031;  // no machine gives out pids like this
constexpr uint64_t kCode = 0x7f0000000000;

// Of each sample: "outer>inlined>innermost", or "<reason>".
class Frames : public SampleConsumer {
 public:
  explicit Frames(Session& session) : session_(session) {}
  bool on_sample(const ResolvedSample& sample) override {
    const Location& location = session_.location(sample.stack.back());
    const auto& frames = session_.resolver().frames();
    const Frame& outer = frames[location.frame];
    std::string text =
        outer.method.empty() ? "<" + std::string(to_string(outer.no_name)) + ">" : outer.method;
    const auto& inlined = session_.resolver().inlined(location);
    for (size_t i = inlined.size(); i-- > 0;) {
      EXPECT_EQ(frames[inlined[i]].kind, FrameKind::jit_inlined);
      text += ">" + frames[inlined[i]].method;
    }
    found.push_back(text);
    return true;
  }
  std::vector<std::string> found;

 private:
  Session& session_;
};

class MapFrames : public test::ScratchFolderTest {
 protected:
  struct Memory {
    uint64_t start = 0;
    uint64_t size = 0x1000;
  };
  // One sample at each address.
  std::vector<std::string> found(const std::string& program, const std::string& map,
                                 const std::vector<Memory>& memory,
                                 const std::vector<uint64_t>& addresses, bool inlined = true) {
    PerfDataBuilder builder;
    builder.comm(kPid, kPid, "it", Stamp{kPid, kPid, 10, 0});
    builder.mmap2({.pid = kPid,
                   .tid = kPid,
                   .start = 0x400000,
                   .length = 0x1000,
                   .path = program,
                   .stamp = {.pid = kPid, .time = 20}});
    for (const Memory& each : memory) {
      builder.mmap2({.pid = kPid,
                     .tid = kPid,
                     .start = each.start,
                     .length = each.size,
                     .path = "//anon",
                     .inode = 0,
                     .stamp = {.pid = kPid, .time = 30}});
    }
    uint64_t time = 100;
    for (const uint64_t address : addresses) {
      builder.sample({.pid = kPid,
                      .tid = kPid,
                      .time = time++,
                      .ip = address,
                      .callchain = {perfdata::kContextUser, address}});
    }
    const std::string path = write("perf.data", builder.file());
    SessionOptions options;
    options.naming.perf_maps[kPid] = write("the.map", map);
    options.naming.jit_inlined = inlined;
    auto session = Session::open(path, options);
    EXPECT_TRUE(session);
    Frames frames(**session);
    EXPECT_TRUE((*session)->run(frames));
    return frames.found;
  }
};

constexpr std::string_view kLibjvm = "/nonexistent/libjvm.so";

TEST_F(MapFrames, UnfoldedNamesAreFrames) {
  const std::string map =
      "7f0000000000 40 LOrder;::total\n"
      "7f0000000040 40 LOrder;::total->LCart;::sum->LItem;::price\n"
      "7f0000000080 40 LItem;::price in LOrder;::total\n"
      "7f00000000c0 40 std::unique_ptr<A>::operator->\n";
  const std::vector<uint64_t> each = {kCode, kCode + 0x44, kCode + 0x84, kCode + 0xc4};
  EXPECT_THAT(found(std::string(kLibjvm), map, {{kCode}}, each),
              ElementsAre("Order.total", "Order.total>Cart.sum>Item.price",
                          "Order.total>Item.price", "std::unique_ptr<A>::operator->"));
  // Without inlined frames the name is what the map has.
  EXPECT_THAT(found(std::string(kLibjvm), map, {{kCode}}, {kCode + 0x44}, false),
              ElementsAre(HasSubstr("->")));
  // Only a JVM's.
  EXPECT_THAT(found("/nonexistent/other", map, {{kCode}}, {kCode + 0x44}),
              ElementsAre("LOrder;::total->LCart;::sum->LItem;::price"));
}

TEST_F(MapFrames, WhatLiesInFrontOfWasmFunctions) {
  const std::string node = "/nonexistent/node";
  const std::string wasm = "7f0000000400 40 JS:fib-0-liftoff\n7f0000000480 40 JS:fib-0-turbofan\n";
  const auto table = HasSubstr("jump table");
  EXPECT_THAT(found(node, wasm, {{kCode}}, {kCode + 0x40, kCode + 0x3ff, kCode + 0x400}),
              ElementsAre(table, table, "wasm.fib"));
  // Between functions and behind them lies something else.
  EXPECT_THAT(found(node, wasm, {{kCode}}, {kCode + 0x440, kCode + 0x4c0}),
              ElementsAre(Not(table), Not(table)));
  // Memory that goes on: what is in front may be a function's.
  EXPECT_THAT(found(node, wasm, {{kCode - 0x1000}, {kCode}}, {kCode + 0x40}),
              ElementsAre(Not(table)));
  // JavaScript's code has no such table.
  const std::string script = "7f0000000400 40 JS:*f /a.js:1:2\n";
  EXPECT_THAT(found(node, script, {{kCode}}, {kCode + 0x40}), ElementsAre(Not(table)));
  EXPECT_THAT(found(node, wasm, {{kCode + 0x10000}}, {kCode + 0x10040}), ElementsAre(Not(table)));
}

}  // namespace
}  // namespace jitscope
