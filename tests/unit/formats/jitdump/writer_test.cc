#include <gtest/gtest.h>

#include "dump_builder.h"

namespace jitscope {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(JitdumpWriter, WhatIsWrittenIsRead) {
  jitdump::Writer writer(77, 183);
  std::string out;
  writer.header(out, 123);
  const jitdump::LineEntry lines[] = {{0x1000, 1, 0, "/a.c"}, {0x1004, 2, 5, "/a.c"}};
  jitdump::Load load;
  load.time = 10;
  load.since = 4;
  load.tid = 78;
  load.address = 0x1000;
  load.size = 8;
  load.name = std::string_view("name\0hidden", 11);
  load.code = bytes_of("codecode");
  load.lines = lines;
  load.unwind = bytes_of("HHHHEEEE");
  load.unwind_header_size = 4;
  load.unwind_mapped_size = 4096;
  const uint64_t first = writer.load(out, load);
  jitdump::Load plain;
  plain.time = 11;
  plain.address = 0x2000;
  plain.size = 6;
  plain.name = "short of code";
  plain.code = bytes_of("abcd");
  const uint64_t second = writer.load(out, plain);
  EXPECT_NE(first, second);
  writer.move(out, {12, 77, 78, 0x1000, 0x5000, 8, first});
  writer.gone(out, {13, 0x5000, 8});
  writer.close(out, 14);

  const auto dump = test::read_dump(out);
  ASSERT_TRUE(dump) << to_string(dump.error());
  EXPECT_TRUE(dump->damage.empty());
  EXPECT_EQ(dump->header.pid, 77U);
  EXPECT_EQ(dump->header.e_machine, 183U);
  EXPECT_EQ(dump->header.timestamp, 123U);
  EXPECT_EQ(dump->header.header_size, 40U);
  ASSERT_EQ(dump->loads.size(), 2U);
  const auto& a = dump->loads[0];
  EXPECT_EQ(a.name, "name");
  EXPECT_EQ(a.code, "codecode");
  EXPECT_EQ(a.unwind, "HHHHEEEE");
  EXPECT_EQ(a.load.unwind_header_size, 4U);
  EXPECT_EQ(a.load.unwind_mapped_size, 4096U);
  EXPECT_EQ(a.load.since, 4U);
  EXPECT_EQ(a.load.pid, 77U);
  EXPECT_EQ(a.load.tid, 78U);
  EXPECT_EQ(a.load.index, first);
  EXPECT_EQ(a.lines, (std::vector<test::KeptLine>{{0x1000, 1, "/a.c"}, {0x1004, 2, "/a.c"}}));
  const auto& b = dump->loads[1];
  EXPECT_EQ(b.code, std::string("abcd\0\0", 6));
  EXPECT_EQ(b.load.since, 11U);
  EXPECT_EQ(b.load.tid, 77U);
  ASSERT_EQ(dump->moves.size(), 1U);
  EXPECT_EQ(dump->moves[0].new_address, 0x5000U);
  ASSERT_EQ(dump->gone.size(), 1U);
  EXPECT_EQ(dump->gone[0].time, 13U);
  EXPECT_EQ(dump->closed, std::vector<uint64_t>{14});
}

TEST(JitdumpWriter, ABodyFarTooLargeToFillUp) {
  jitdump::Writer writer(1);
  std::string out;
  writer.header(out, 0);
  jitdump::Load load;
  load.time = 1;
  load.address = 0x1000;
  load.size = uint64_t{1} << 40U;
  load.name = "huge";
  writer.load(out, load);
  EXPECT_LT(out.size(), 1000U);
  const auto dump = test::read_dump(out);
  ASSERT_TRUE(dump);
  ASSERT_EQ(dump->loads.size(), 1U);
  EXPECT_EQ(dump->loads[0].load.size, load.size);
  EXPECT_EQ(dump->loads[0].name, "huge");
}

}  // namespace
}  // namespace jitscope
