#include <gtest/gtest.h>

#include <algorithm>

#include "dump_builder.h"

namespace jitscope {
namespace {

using jitdump::ReadOptions;
using test::Dump;
using test::DumpBuilder;
using test::KeptLine;
using test::read_dump;

constexpr std::string_view kEndsInside = "jitdump that ends inside a record";

TEST(Jitdump, ReadsAllKindsOfRecords) {
  DumpBuilder builder;
  builder.header(40, 0, 1).unwind(4, "HHHHEEEEEE", 4, 4096);
  builder.lines(5, 0x1000, 2).line(0x1000, 3, "/a.c", 7).line(0x1002, 4, "/b.c").end();
  builder.load(6, 0x1000, "first name", "code");
  builder.begin(1, 7).u32(42).u32(44).u64(0).u64(0x1000).u64(0x3000).u64(4).u64(0).end();
  builder.begin(jitdump::kGoneId, 8).u64(0x3000).u64(4).end();
  builder.begin(3, 9).end();
  const auto dump = read_dump(builder.bytes());
  ASSERT_TRUE(dump) << to_string(dump.error());
  EXPECT_EQ(dump->header.version, 1U);
  EXPECT_EQ(dump->header.pid, 42U);
  EXPECT_EQ(dump->header.e_machine, 62U);
  EXPECT_EQ(dump->header.timestamp, 1000U);
  EXPECT_TRUE(dump->header.arch_timestamp);
  ASSERT_EQ(dump->loads.size(), 1U);
  const auto& load = dump->loads[0];
  EXPECT_EQ(load.name, "first name");
  EXPECT_EQ(load.code, "code");
  EXPECT_EQ(load.load.address, 0x1000U);
  EXPECT_EQ(load.load.size, 4U);
  EXPECT_EQ(load.load.time, 6U);
  EXPECT_EQ(load.load.since, 6U);
  EXPECT_EQ(load.load.pid, 42U);
  EXPECT_EQ(load.load.tid, 43U);
  EXPECT_EQ(load.unwind, "HHHHEEEEEE");
  EXPECT_EQ(load.load.unwind_header_size, 4U);
  EXPECT_EQ(load.load.unwind_mapped_size, 4096U);
  EXPECT_EQ(load.lines, (std::vector<KeptLine>{{0x1000, 3, "/a.c"}, {0x1002, 4, "/b.c"}}));
  ASSERT_EQ(dump->moves.size(), 1U);
  EXPECT_EQ(dump->moves[0].old_address, 0x1000U);
  EXPECT_EQ(dump->moves[0].new_address, 0x3000U);
  EXPECT_EQ(dump->moves[0].size, 4U);
  ASSERT_EQ(dump->gone.size(), 1U);
  EXPECT_EQ(dump->gone[0].address, 0x3000U);
  EXPECT_EQ(dump->closed, std::vector<uint64_t>{9});
  EXPECT_TRUE(dump->damage.empty());
}

TEST(Jitdump, TheOtherByteOrder) {
  DumpBuilder builder(std::endian::big);
  builder.header().lines(5, 0x1000, 1).line(0x1001, 3, "/a.c").end();
  builder.load(6, 0x1000, "f", "code");
  const auto dump = read_dump(builder.bytes());
  ASSERT_TRUE(dump) << to_string(dump.error());
  EXPECT_EQ(dump->header.order, std::endian::big);
  ASSERT_EQ(dump->loads.size(), 1U);
  EXPECT_EQ(dump->loads[0].load.address, 0x1000U);
  EXPECT_EQ(dump->loads[0].lines, (std::vector<KeptLine>{{0x1001, 3, "/a.c"}}));
}

TEST(Jitdump, RefusesWhatIsNone) {
  for (const std::string& bytes :
       {std::string(), std::string("DTi"), std::string(100, 'x'), DumpBuilder().header().cut(1),
        DumpBuilder().header(40, 0, 0, 2).bytes()}) {
    const auto dump = read_dump(bytes);
    ASSERT_FALSE(dump);
    EXPECT_EQ(dump.error().kind, ErrorKind::damaged);
  }
  const std::string good = DumpBuilder().header().bytes();
  EXPECT_TRUE(jitdump::looks_like_jitdump(std::as_bytes(std::span(good))));
  EXPECT_FALSE(jitdump::looks_like_jitdump({}));
}

TEST(Jitdump, HonoursTheSizeOfTheHeader) {
  const auto longer = read_dump(DumpBuilder().header(72).load(1, 16, "f", "c").bytes());
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->loads.size(), 1U);
  const auto beyond = read_dump(DumpBuilder().header().load(1, 16, "f", "c").bytes());
  ASSERT_TRUE(beyond);
  EXPECT_EQ(beyond->loads.size(), 1U);
  const auto impossible = read_dump(DumpBuilder().header(8).load(1, 16, "f", "c").bytes());
  ASSERT_TRUE(impossible);
  EXPECT_EQ(impossible->loads.size(), 1U);
  EXPECT_EQ(impossible->damaged("jitdump header of an impossible size"), 1U);
}

TEST(Jitdump, DebugInfoBelongsToTheLoadOfItsAddress) {
  DumpBuilder builder;
  builder.header();
  builder.lines(1, 0x1000, 1).line(0x1000, 1, "one").end();
  builder.lines(2, 0x2000, 1).line(0x2000, 2, "two").end();
  builder.load(3, 0x2000, "second", "code").load(4, 0x1000, "first", "code");
  builder.load(5, 0x1000, "without", "code");
  builder.lines(6, 0x3000, 1).line(0x3000, 5, "earlier").end();
  builder.lines(7, 0x3000, 1).line(0x3000, 6, "later").end();
  builder.load(8, 0x3000, "third", "code");
  const auto dump = read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  ASSERT_EQ(dump->loads.size(), 4U);
  EXPECT_EQ(dump->loads[0].lines, (std::vector<KeptLine>{{0x2000, 2, "two"}}));
  EXPECT_EQ(dump->loads[1].lines, (std::vector<KeptLine>{{0x1000, 1, "one"}}));
  EXPECT_TRUE(dump->loads[2].lines.empty());
  EXPECT_EQ(dump->loads[3].lines, (std::vector<KeptLine>{{0x3000, 6, "later"}}));
}

TEST(Jitdump, DebugInfoWithoutItsLoadIsForgotten) {
  DumpBuilder builder;
  builder.header().lines(1, 0x1000, 1).line(0x1000, 1, "old").end();
  for (uint64_t i = 0; i <= jitdump::kMostPending; ++i) builder.load(2, 0x9000, "other", "code");
  builder.load(3, 0x1000, "late", "code");
  const auto dump = read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_TRUE(dump->loads.back().lines.empty());
  EXPECT_EQ(dump->damaged("jitdump line table without its code"), 1U);
}

TEST(Jitdump, TheMarkOfTheSameFileAndPadding) {
  DumpBuilder builder;
  builder.header().lines(1, 0x1000, 3);
  builder.line(0x1000, 1, "/a.c").line(0x1001, 2, "\xff").line(0x1002, 3, "\xff");
  builder.text(std::string(5, '\0')).end();
  builder.load(2, 0x1000, "f", "code");
  builder.lines(3, 0x2000, 1).line(0x2000, 1, "\xff").end().load(4, 0x2000, "g", "code");
  const auto dump = read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->loads[0].lines,
            (std::vector<KeptLine>{{0x1000, 1, "/a.c"}, {0x1001, 2, "/a.c"}, {0x1002, 3, "/a.c"}}));
  EXPECT_EQ(dump->loads[1].lines, (std::vector<KeptLine>{{0x2000, 1, ""}}));
  EXPECT_TRUE(dump->damage.empty());
}

TEST(Jitdump, MoreEntriesThanThereAre) {
  DumpBuilder builder;
  builder.header().lines(1, 0x1000, UINT64_MAX).line(0x1000, 1, "/a.c").end();
  builder.load(2, 0x1000, "f", "code");
  const auto dump = read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->loads[0].lines, (std::vector<KeptLine>{{0x1000, 1, "/a.c"}}));
  EXPECT_EQ(dump->damaged("jitdump line table with damaged entries"), 1U);
}

TEST(Jitdump, TwoUnwindingRecordsBelongToNoLoad) {
  DumpBuilder builder;
  builder.header().unwind(1, "HHEE", 2, 0).unwind(1, "hhee", 2, 0).load(2, 0x1000, "f", "code");
  builder.unwind(3, "good", 2, 0).load(4, 0x2000, "g", "code");
  const auto dump = read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->loads[0].unwind, "");
  EXPECT_EQ(dump->loads[1].unwind, "good");
}

TEST(Jitdump, CodeIsTakenFromTheEndOfTheRecord) {
  DumpBuilder builder;
  builder.header().load_head(1, 0x1000, 4, "f").text("paddingCODE").end();
  builder.load_head(2, 0x2000, 77, "no code at all").end();
  const auto dump = read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  ASSERT_EQ(dump->loads.size(), 2U);
  EXPECT_EQ(dump->loads[0].code, "CODE");
  EXPECT_EQ(dump->loads[1].code, "");
  EXPECT_EQ(dump->loads[1].load.size, 77U);
  EXPECT_FALSE(dump->loads[1].load.cut);
}

// What a killed process leaves: the name, address and size of the last record still count.
TEST(Jitdump, CutAnywhere) {
  DumpBuilder builder;
  builder.header().load(1, 0x1000, "whole", "code");
  const size_t whole = builder.bytes().size();
  builder.lines(2, 0x2000, 1).line(0x2000, 5, "/a.c").end();
  const size_t before = builder.bytes().size();
  builder.load(3, 0x2000, "the last one", std::string(1000, 'c'));
  const std::string& bytes = builder.bytes();
  for (size_t size = whole; size < bytes.size(); ++size) {
    for (const bool code : {true, false}) {
      for (const bool seekable : {true, false}) {
        const auto dump = read_dump(test::as_source(bytes.substr(0, size), seekable, 13),
                                    ReadOptions{.code = code, .lines = true, .unwind = true});
        ASSERT_TRUE(dump) << size;
        EXPECT_EQ(dump->damaged(kEndsInside), size == whole || size == before ? 0U : 1U) << size;
        if (size < before + 56) {
          ASSERT_EQ(dump->loads.size(), 1U) << size;
          continue;
        }
        ASSERT_EQ(dump->loads.size(), 2U) << size;
        const auto& last = dump->loads[1];
        EXPECT_TRUE(last.load.cut);
        EXPECT_EQ(last.load.address, 0x2000U);
        EXPECT_EQ(last.load.size, 1000U);
        EXPECT_EQ(last.code, "");
        EXPECT_EQ(last.lines.size(), 1U);
        const size_t name = std::min<size_t>(size - before - 56, 12);
        EXPECT_EQ(last.name, std::string_view("the last one").substr(0, name));
        EXPECT_EQ(last.load.name_cut, size - before - 56 <= 12) << size;
      }
    }
  }
}

TEST(Jitdump, ImpossibleSizes) {
  DumpBuilder builder;
  builder.header();
  builder.load_head(1, 0x1000, UINT64_MAX, "code larger than its record").text("c").end();
  builder.load(2, UINT64_MAX - 1, "leaves the address space", "code");
  builder.begin(0, 3).text("short").end();
  builder.begin(0, 4).u32(1).u32(2).u64(0).u64(0x5000).u64(1).u64(0).text("no end").end();
  builder.begin(1, 5).u64(3).end();
  builder.begin(1, 6).u32(1).u32(2).u64(0).u64(1).u64(2).u64(UINT64_MAX).u64(0).end();
  builder.begin(2, 7).end();
  builder.begin(4, 8).u64(UINT64_MAX).u64(UINT64_MAX).u64(0).end();
  builder.begin(jitdump::kGoneId, 9).u64(UINT64_MAX).u64(1).end();
  builder.begin(77, 10).text("who knows").end();
  builder.load(11, 0x2000, "good", "code");
  builder.begin(0, 12).end(15);
  builder.load(13, 0x3000, "behind the end", "code");
  const auto dump = read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  ASSERT_EQ(dump->loads.size(), 1U);
  EXPECT_EQ(dump->loads[0].name, "good");
  EXPECT_EQ(dump->loads[0].unwind, "");
  EXPECT_TRUE(dump->moves.empty());
  EXPECT_TRUE(dump->gone.empty());
  EXPECT_EQ(dump->damaged("jitdump load whose code is larger than its record"), 1U);
  EXPECT_EQ(dump->damaged("jitdump load whose code leaves the address space"), 1U);
  EXPECT_EQ(dump->damaged("jitdump record without its fields"), 2U);
  EXPECT_EQ(dump->damaged("jitdump load without an end of its name"), 1U);
  EXPECT_EQ(dump->damaged("jitdump record of an impossible size: the rest is not read"), 1U);
}

TEST(Jitdump, SinceBelongsToTheNextLoadOfItsAddress) {
  DumpBuilder builder;
  builder.header();
  builder.begin(jitdump::kSinceId, 9).u64(0x1000).u64(4).end().load(9, 0x1000, "f", "code");
  builder.begin(jitdump::kSinceId, 9).u64(0x1000).u64(4).end().load(9, 0x2000, "g", "code");
  builder.load(9, 0x1000, "h", "code");
  const auto dump = read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->loads[0].load.since, 4U);
  EXPECT_EQ(dump->loads[1].load.since, 9U);
  EXPECT_EQ(dump->loads[2].load.since, 9U);
}

TEST(Jitdump, LeavesOutWhatIsNotWanted) {
  DumpBuilder builder;
  builder.header().unwind(1, "HHEE", 2, 0).lines(1, 0x1000, 1).line(0x1000, 1, "a").end();
  builder.load(2, 0x1000, std::string(3000, 'n'), std::string(700'000, 'c'));
  builder.load(3, 0x2000, "g", "code");
  const auto dump =
      read_dump(builder.bytes(), ReadOptions{.code = false, .lines = false, .unwind = false});
  ASSERT_TRUE(dump);
  ASSERT_EQ(dump->loads.size(), 2U);
  EXPECT_EQ(dump->loads[0].name.size(), 3000U);
  EXPECT_EQ(dump->loads[0].load.size, 700'000U);
  EXPECT_TRUE(dump->loads[0].code.empty() && dump->loads[0].lines.empty());
  EXPECT_TRUE(dump->loads[0].unwind.empty());
  EXPECT_FALSE(dump->loads[0].load.cut);
}

TEST(Jitdump, TheHandlerMayStop) {
  const std::string bytes =
      DumpBuilder().header().load(1, 16, "f", "c").load(2, 32, "g", "c").bytes();
  const auto dump = read_dump(test::as_source(bytes), {}, 1);
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->loads.size(), 1U);
}

}  // namespace
}  // namespace jitscope
