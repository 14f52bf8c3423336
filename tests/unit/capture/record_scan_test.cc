#include "capture/record_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

#include "capture/build_ids.h"
#include "formats/perfdata/record_builder.h"

namespace jitscope {
namespace {

using perfdata::RecordBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Watched {
  std::vector<pid_t> code;
  std::vector<std::string> files;
  std::vector<uint64_t> since;  // of each of `code`
  std::vector<std::pair<pid_t, uint64_t>> execs;
  RecordScan scan{{[this](pid_t pid, uint64_t began) {
                     code.push_back(pid);
                     since.push_back(began);
                   },
                   [this](pid_t pid, uint64_t time) { execs.emplace_back(pid, time); },
                   [this](pid_t /*pid*/, std::string_view path, uint64_t /*inode*/) {
                     files.emplace_back(path);
                   }}};
};

std::string mapping(uint32_t pid, std::string_view path, uint64_t inode = 0, bool exec = true) {
  perfdata::Mmap mmap;
  mmap.pid = pid;
  mmap.tid = pid;
  mmap.path = path;
  mmap.inode = inode;
  std::string out;
  RecordBuilder(0, false).mmap2(out, {}, mmap,
                                static_cast<uint32_t>(exec ? PROT_EXEC | PROT_READ : PROT_READ), 2);
  return out;
}

std::string sample(uint64_t time) {
  std::string out(40, '\0');
  const uint32_t type = 9;
  const uint16_t size = 40;
  std::memcpy(out.data(), &type, 4);
  std::memcpy(out.data() + 6, &size, 2);
  std::memcpy(out.data() + 32, &time, 8);
  return out;
}

TEST(RecordScan, CountsSamplesAndLosses) {
  Watched watched;
  const RecordBuilder builder(0, false);
  std::string records = sample(50) + sample(20);
  builder.lost(records, {}, {3, false});
  builder.lost(records, {}, {4, true});
  watched.scan.scan(records);
  watched.scan.scan(sample(30));
  EXPECT_EQ(watched.scan.samples(), 3);
  EXPECT_EQ(watched.scan.lost(), 7);
  EXPECT_EQ(watched.scan.first_sample(), 20);
  EXPECT_EQ(watched.scan.last_sample(), 50);
}

TEST(RecordScan, TellsOnceWhichProcessesMayHaveJitCode) {
  Watched watched;
  watched.scan.scan(mapping(1, "/usr/lib/libc.so.6", 5) + mapping(2, "//anon") +
                    mapping(2, "//anon") + mapping(3, "/memfd:jit (deleted)", 6) +
                    mapping(4, "//anon", 0, false) + mapping(5, "/jvm/lib/server/libjvm.so", 7));
  EXPECT_THAT(watched.code, ElementsAre(2, 3, 5));
  EXPECT_THAT(watched.files, ElementsAre("/usr/lib/libc.so.6", "/memfd:jit (deleted)",
                                         "/jvm/lib/server/libjvm.so"));
  // The library of a runtime, and another program, are news of a process that is known.
  watched.scan.scan(mapping(2, "/jvm/lib/server/libjvm.so", 7));
  EXPECT_THAT(watched.code, ElementsAre(2, 3, 5, 2));
  std::string exec;
  perfdata::RecordHead head;
  head.misc = perfdata::kMiscCommExec;
  RecordBuilder(0, false).comm(exec, head, {3, 3, "other", true});
  watched.scan.scan(exec + mapping(3, "//anon"));
  EXPECT_THAT(watched.code, ElementsAre(2, 3, 5, 2, 3));
}

TEST(RecordScan, TellsSinceWhenAProgramRuns) {
  Watched watched;
  // As PerfSampler's records end.
  const RecordBuilder builder(
      PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU, true);
  std::string records;
  builder.fork(records, {}, {10, 1, 10, 1, 500});    // a process
  builder.fork(records, {}, {10, 10, 11, 10, 600});  // its second thread
  records += mapping(10, "//anon") + mapping(20, "//anon");
  perfdata::RecordHead head;
  head.misc = perfdata::kMiscCommExec;
  head.time = 700;
  builder.comm(records, head, {10, 10, "program", true});
  records += mapping(10, "//anon");
  head.misc = 0;
  head.time = 800;
  builder.comm(records, head, {10, 10, "only a name", false});
  watched.scan.scan(records + mapping(10, "/jvm/lib/server/libjvm.so", 7));
  EXPECT_THAT(watched.code, ElementsAre(10, 20, 10, 10));
  EXPECT_THAT(watched.since, ElementsAre(500, 0, 700, 700));
  EXPECT_THAT(watched.execs, ElementsAre(std::pair(10, 700)));
  // Of a process that ended nothing is left for the next one with its pid.
  std::string exit(24 + 8, '\0');
  const uint32_t type = 4;
  exit[0] = static_cast<char>(type);
  exit[6] = static_cast<char>(exit.size());
  exit[8] = exit[16] = 10;  // pid, tid
  watched.scan.scan(exit + mapping(10, "/jvm/lib/server/libjvm.so", 7));
  EXPECT_EQ(watched.since.back(), 0);
}

TEST(RecordScan, KnowsThreadsThatStarted) {
  Watched watched;
  std::string fork;
  RecordBuilder(0, false).fork(fork, {}, {10, 10, 12, 10, 1});
  watched.scan.scan(fork);
  EXPECT_TRUE(watched.scan.saw_start_of(12));
  EXPECT_FALSE(watched.scan.saw_start_of(10));
}

TEST(RecordScan, NonsenseEndsTheScan) {
  Watched watched;
  std::string zero_size = sample(1);
  zero_size[6] = 0;
  watched.scan.scan(zero_size);
  std::string too_long = sample(1);
  too_long[7] = '\x7f';
  watched.scan.scan(too_long);
  watched.scan.scan(mapping(1, "//anon").substr(0, 30));
  watched.scan.scan("short");
  EXPECT_EQ(watched.scan.samples(), 0);
  EXPECT_THAT(watched.code, IsEmpty());
}

TEST(BuildIds, OfNotes) {
  const auto notes = [](uint32_t name_size, uint32_t size, uint32_t type, std::string text) {
    std::string out(12, '\0');
    std::memcpy(out.data(), &name_size, 4);
    std::memcpy(out.data() + 4, &size, 4);
    std::memcpy(out.data() + 8, &type, 4);
    return out + text;
  };
  const auto look = [](const std::string& text) {
    return build_id_of_notes(std::as_bytes(std::span(text)));
  };
  const std::string gnu("GNU\0", 4);
  const std::string first = notes(6, 2, 7, std::string("Linux\0\0\0zz\0\0", 12));
  const auto found = look(first + notes(4, 3, 3, gnu + std::string("abc\0", 4)));
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, ElementsAre(std::byte{'a'}, std::byte{'b'}, std::byte{'c'}));
  EXPECT_FALSE(look(""));
  EXPECT_FALSE(look(first));
  EXPECT_FALSE(look(notes(4, UINT32_MAX, 3, gnu)));
  EXPECT_FALSE(look(notes(UINT32_MAX, 3, 3, gnu)));
  EXPECT_FALSE(look(notes(4, 0, 3, gnu)));
}

TEST(BuildIds, OnlyOfFilesThatAreStillTheOnesThatRan) {
  BuildIds ids;
  ids.saw(1, "//anon", 0);
  ids.saw(1, "[vdso]", 0);
  ids.saw(1, "/memfd:x (deleted)", 5);
  ids.saw(1, "/nonexistent/lib.so", 5);
  ids.saw(1, "/bin/sh", UINT64_MAX);  // another inode than it has
  EXPECT_THAT(ids.section(false), IsEmpty());
}

}  // namespace
}  // namespace jitscope
