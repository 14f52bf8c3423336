// The bodies of the records other than samples, and what their trailers say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/formats/perfdata/collect.h"

namespace jitscope::perfdata::test {
namespace {

using ::testing::IsEmpty;

TEST(PerfDataRecords, TrailerOfEveryLayout) {
  namespace bit = sample_bit;
  const uint64_t fields[] = {bit::kTid,      bit::kTime, bit::kId,
                             bit::kStreamId, bit::kCpu,  bit::kIdentifier};
  for (unsigned mask = 0; mask < 64; ++mask) {
    uint64_t type = bit::kIp;
    for (unsigned i = 0; i < 6; ++i) {
      if ((mask >> i & 1U) != 0) type |= fields[i];
    }
    PerfDataBuilder b({{.sample_type = type}});
    b.comm(1, 2, "name", {.pid = 3, .tid = 4, .time = 5, .cpu = 6});
    const auto got = collect(b.file());
    ASSERT_EQ(got->records.size(), 1U) << mask;
    const RecordHead& head = got->records[0].head;
    EXPECT_EQ(head.pid, (type & bit::kTid) != 0 ? 3U : 0U);
    EXPECT_EQ(head.tid, (type & bit::kTid) != 0 ? 4U : 0U);
    EXPECT_EQ(head.time, (type & bit::kTime) != 0 ? 5U : 0U);
    EXPECT_EQ(head.has_time, (type & bit::kTime) != 0);
    EXPECT_EQ(head.id, (type & (bit::kId | bit::kIdentifier)) != 0 ? 100U : 0U);
    EXPECT_EQ(head.cpu, (type & bit::kCpu) != 0 ? 6U : UINT32_MAX);
    EXPECT_EQ(std::get<Comm>(got->records[0].body).name, "name");
  }
}

TEST(PerfDataRecords, MappingFields) {
  PerfDataBuilder b;
  b.mmap({.pid = UINT32_MAX,
          .start = 0xffffffff81000000,
          .length = 0x1000000,
          .path = "[kernel.kallsyms]_text",
          .misc = 1});
  b.mmap({.pid = 5, .start = 0x1000, .path = "data", .misc = 2U | misc_bit::kMmapData});
  b.mmap2({.pid = 5,
           .tid = 6,
           .start = 0x7f0000001000,
           .length = 0x3000,
           .page_offset = 0x2000,
           .path = "/usr/lib/libc.so.6",
           .major = 253,
           .minor = 3,
           .inode = 99,
           .generation = 7});
  b.mmap2({.pid = 5, .path = "//anon", .prot = 3, .flags = 1});
  b.mmap2({.pid = 5, .path = "/memfd:x (deleted)", .flags = 3, .build_id = "0123456789abcdef"});
  b.mmap2({.pid = UINT32_MAX,
           .path = "[kernel.kallsyms]_text",
           .misc = 1,
           .prot = 0,
           .build_id = std::string(20, 'k')});
  b.mmap2({.pid = 0, .path = "[guest.kernel.kallsyms.0]", .misc = 4});
  const auto got = collect(b.file());
  const auto maps = got->all<Mmap>();
  ASSERT_EQ(maps.size(), 7U);
  EXPECT_TRUE(maps[0].kernel && maps[0].executable && !maps[0].guest && !maps[0].has_inode);
  EXPECT_EQ(maps[0].path, "[kernel.kallsyms]_text");
  EXPECT_EQ(maps[0].length, 0x1000000U);
  EXPECT_FALSE(maps[1].executable);

  EXPECT_EQ(maps[2].tid, 6U);
  EXPECT_EQ(maps[2].start, 0x7f0000001000U);
  EXPECT_EQ(maps[2].page_offset, 0x2000U);
  EXPECT_EQ(maps[2].path, "/usr/lib/libc.so.6");
  EXPECT_TRUE(maps[2].executable && maps[2].has_inode && !maps[2].shared && !maps[2].kernel);
  EXPECT_EQ(maps[2].major, 253U);
  EXPECT_EQ(maps[2].minor, 3U);
  EXPECT_EQ(maps[2].inode, 99U);
  EXPECT_EQ(maps[2].generation, 7U);
  EXPECT_THAT(maps[2].build_id, IsEmpty());

  EXPECT_TRUE(!maps[3].executable && maps[3].shared);
  EXPECT_TRUE(maps[4].shared && !maps[4].has_inode);
  EXPECT_EQ(text(maps[4].build_id), "0123456789abcdef");
  EXPECT_EQ(maps[4].path, "/memfd:x (deleted)");
  EXPECT_TRUE(maps[5].kernel && maps[5].executable);  // though perf says no protection
  EXPECT_EQ(maps[5].build_id.size(), 20U);
  EXPECT_TRUE(maps[6].kernel && maps[6].guest);
}

TEST(PerfDataRecords, ThreadsAndLosses) {
  PerfDataBuilder b;
  b.comm(1, 2, "exec'd", {.time = 1}, true);
  b.thread(RecordType::fork, 10, 11, 12, 13, {.pid = 11, .time = 2});
  b.thread(RecordType::exit, 20, 21, 22, 23, {.time = 3});
  b.lost(40, {.time = 4}).lost_samples(50, {.time = 5});
  b.record(RecordType::switch_, misc_bit::kSwitchOut, Bytes(), {.pid = 7, .time = 6});
  b.record(RecordType::switch_cpu_wide, 0, Bytes().u32(8).u32(9), {.pid = 7, .time = 7});
  const auto got = collect(b.file());
  ASSERT_EQ(got->records.size(), 7U);
  EXPECT_TRUE(std::get<Comm>(got->records[0].body).exec);
  const Fork& fork = std::get<Fork>(got->records[1].body);
  EXPECT_EQ(fork.pid, 10U);
  EXPECT_EQ(fork.parent_pid, 11U);
  EXPECT_EQ(fork.tid, 12U);
  EXPECT_EQ(fork.parent_tid, 13U);
  EXPECT_EQ(fork.time, 2U);
  EXPECT_EQ(got->records[1].head.pid, 11U);
  EXPECT_EQ(std::get<Exit>(got->records[2].body).tid, 22U);
  EXPECT_EQ(std::get<Lost>(got->records[3].body).count, 40U);
  EXPECT_FALSE(std::get<Lost>(got->records[3].body).samples);
  EXPECT_EQ(std::get<Lost>(got->records[4].body).count, 50U);
  EXPECT_TRUE(std::get<Lost>(got->records[4].body).samples);
  EXPECT_TRUE(std::get<Switch>(got->records[5].body).out);
  EXPECT_FALSE(std::get<Switch>(got->records[6].body).out);
  EXPECT_EQ(std::get<Switch>(got->records[6].body).other_pid, 8U);
  EXPECT_EQ(std::get<Switch>(got->records[6].body).other_tid, 9U);
}

TEST(PerfDataRecords, KernelThings) {
  PerfDataBuilder b;
  b.namespaces(5, 6, {{1, 10}, {1, 11}, {1, 12}, {1, 13}, {1, 14}, {2, 15}, {1, 16}}, {.time = 1});
  std::vector<Namespaces::Link> future(9, {3, 3});
  b.namespaces(5, 6, future, {.time = 2});
  b.ksymbol(0xffffffffc0000000, 0x40, 1, true, "bpf_prog_abc", {.time = 3});
  b.record(RecordType::bpf_event, 0, Bytes().u16(1).u16(0).u32(77).chars("tag bits"), {.time = 4});
  b.record(RecordType::cgroup, 0, Bytes().u64(88).text("/system.slice/a"), {.time = 5});
  b.record(RecordType::text_poke, 0, Bytes().u64(1).u16(0).u16(0).u32(0), {.time = 6});
  const auto got = collect(b.file());
  ASSERT_EQ(got->records.size(), 6U);
  const Namespaces& spaces = std::get<Namespaces>(got->records[0].body);
  EXPECT_EQ(spaces.pid, 5U);
  ASSERT_EQ(spaces.count, 7U);
  EXPECT_EQ(spaces.links[3].inode, 13U);
  EXPECT_EQ(spaces.links[5].device, 2U);
  EXPECT_EQ(std::get<Namespaces>(got->records[1].body).count, 7U);
  EXPECT_EQ(got->records[1].head.time, 2U);
  const Ksymbol& symbol = std::get<Ksymbol>(got->records[2].body);
  EXPECT_EQ(symbol.address, 0xffffffffc0000000U);
  EXPECT_EQ(symbol.length, 0x40U);
  EXPECT_EQ(symbol.kind, 1U);
  EXPECT_TRUE(symbol.unregister);
  EXPECT_EQ(symbol.name, "bpf_prog_abc");
  const BpfEvent& bpf = std::get<BpfEvent>(got->records[3].body);
  EXPECT_EQ(bpf.kind, 1U);
  EXPECT_EQ(bpf.id, 77U);
  EXPECT_EQ(text(bpf.tag), "tag bits");
  EXPECT_EQ(std::get<Cgroup>(got->records[4].body).id, 88U);
  EXPECT_EQ(std::get<Cgroup>(got->records[4].body).path, "/system.slice/a");
  EXPECT_EQ(std::get<Other>(got->records[5].body).body.size(), 16U);
}

TEST(PerfDataRecords, BuildIdLength) {
  PerfDataBuilder b;
  b.build_id(-1, std::string("\x12\x34\0\0", 4), "[kernel.kallsyms]", 1U | misc_bit::kBuildIdSize);
  // Without the bit zeros are filling, in groups of four bytes.
  b.build_id(7, std::string("0123456789abcdef\0\0\0\0", 20), "/lib/md5.so", 2);
  b.build_id(8, std::string("0123456789abcdefg\0\0\0", 20), "/lib/sha1.so", 2);
  b.build_id(9, std::string(20, '\0'), "/lib/none.so", 2);
  b.record(RecordType::build_id, 2, Bytes().u32(1));
  for (const bool pipe : {false, true}) {
    const auto got = collect(pipe ? b.pipe() : b.file());
    const auto ids = got->all<BuildId>();
    ASSERT_EQ(ids.size(), 4U);
    EXPECT_EQ(ids[0].pid, -1);
    EXPECT_TRUE(ids[0].kernel);
    EXPECT_EQ(ids[0].id.size(), 4U);
    EXPECT_EQ(text(ids[1].id), "0123456789abcdef");
    EXPECT_EQ(ids[2].id.size(), 20U);
    EXPECT_EQ(ids[2].path, "/lib/sha1.so");
    EXPECT_EQ(ids[3].id.size(), 0U);
    const std::vector<BuildIdEntry>& kept = got->reader->header().build_ids;
    ASSERT_EQ(kept.size(), 4U);
    EXPECT_EQ(kept[1].path, "/lib/md5.so");
    EXPECT_EQ(kept[1].id.size(), 16U);
    EXPECT_EQ(got->reader->diagnostics().count("record too short for its type"), 1U);
  }
}

TEST(PerfDataRecords, TooShortForTheirTypes) {
  using enum RecordType;
  PerfDataBuilder b({{.sample_id_all = false}});
  for (const RecordType type : {mmap, mmap2, comm, fork, exit, lost, lost_samples, switch_cpu_wide,
                                namespaces, ksymbol, bpf_event, cgroup}) {
    b.record(type, 0, Bytes().u32(1));
  }
  b.record(namespaces, 0, Bytes().u32(1).u32(1).u64(UINT64_MAX).u64(1));
  b.sample({.time = 1});
  const auto got = collect(b.file());
  EXPECT_THAT(got->records, IsEmpty());
  EXPECT_EQ(got->samples.size(), 1U);
  EXPECT_EQ(got->reader->diagnostics().count("record too short for its type"), 13U);
}

TEST(PerfDataRecords, TextWithoutItsNul) {
  PerfDataBuilder b({{.sample_id_all = false}});
  b.record(RecordType::comm, 0, Bytes().u32(1).u32(1).chars("12345678"));
  const auto got = collect(b.file());
  ASSERT_EQ(got->all<Comm>().size(), 1U);
  EXPECT_EQ(got->all<Comm>()[0].name, "12345678");
}

}  // namespace
}  // namespace jitscope::perfdata::test
