#include "replay/processes.h"

#include <gtest/gtest.h>

#include "naming/jit_sources.h"
#include "session/address_cache.h"

namespace jitscope {
namespace {

using perfdata::Comm;
using perfdata::Exit;
using perfdata::Fork;
using perfdata::Mmap;
using perfdata::Record;

class ProcessesTest : public ::testing::Test {
 protected:
  void comm(uint32_t pid, uint32_t tid, std::string_view name, bool exec, uint64_t time) {
    Record record;
    record.head.time = time;
    record.body = Comm{pid, tid, name, exec};
    processes_.apply(record);
  }
  void fork(uint32_t pid, uint32_t tid, uint32_t parent, uint32_t parent_tid, uint64_t time,
            uint16_t misc = 0) {
    Record record;
    record.head.time = time;
    record.head.misc = misc;
    record.body = Fork{pid, parent, tid, parent_tid, time};
    processes_.apply(record);
  }
  void exit(uint32_t pid, uint32_t tid, uint64_t time) {
    Record record;
    record.head.time = time;
    Exit body;
    body.pid = pid;
    body.tid = tid;
    record.body = body;
    processes_.apply(record);
  }
  void mmap(uint32_t pid, uint64_t start, uint64_t length, std::string_view path, uint64_t time) {
    Record record;
    record.head.time = time;
    Mmap body;
    body.pid = pid;
    body.tid = pid;
    body.start = start;
    body.length = length;
    body.path = path;
    body.executable = true;
    record.body = body;
    processes_.apply(record);
  }

  NamingOptions options_;
  MappedFiles files_{options_};
  Processes processes_{files_};
};

TEST_F(ProcessesTest, AChildHasItsParentsMappingsUntilExec) {
  comm(10, 10, "parent", true, 1);
  mmap(10, 0x1000, 0x1000, "//anon", 2);
  fork(11, 11, 10, 10, 3);
  const auto child = processes_.process(11);
  ASSERT_NE(child->space.at(0x1800), nullptr);
  EXPECT_EQ(child->parent, processes_.process(10));
  EXPECT_EQ(child->forked_at, 3U);
  EXPECT_EQ(processes_.thread(11, 11).comm, "parent");
  // What the parent maps later is not the child's.
  mmap(10, 0x5000, 0x1000, "//anon", 4);
  EXPECT_EQ(child->space.at(0x5000), nullptr);
  comm(11, 11, "other", true, 5);
  const auto after = processes_.process(11);
  EXPECT_NE(after, child);
  EXPECT_EQ(after->space.at(0x1800), nullptr);
  EXPECT_EQ(after->parent, nullptr);
  EXPECT_EQ(child->end, 5U);
  EXPECT_EQ(processes_.thread(11, 11).process, after);
}

TEST_F(ProcessesTest, ARenamedProcessKeepsItsMappings) {
  mmap(10, 0x1000, 0x1000, "//anon", 2);
  comm(10, 10, "renamed", false, 3);
  EXPECT_NE(processes_.process(10)->space.at(0x1000), nullptr);
}

TEST_F(ProcessesTest, ThreadsHaveNamesOfTheirOwnAndShareTheProcess) {
  comm(10, 10, "java", true, 1);
  fork(10, 12, 10, 10, 2);
  EXPECT_EQ(processes_.thread(10, 12).comm, "java");
  comm(10, 12, "GC Thread", false, 3);
  EXPECT_EQ(processes_.thread(10, 12).comm, "GC Thread");
  EXPECT_EQ(processes_.process(10)->comm, "java");
  EXPECT_EQ(processes_.thread(10, 12).process, processes_.thread(10, 10).process);
}

TEST_F(ProcessesTest, AReusedPidIsANewLife) {
  comm(10, 10, "first", true, 1);
  mmap(10, 0x1000, 0x1000, "//anon", 2);
  const auto first = processes_.process(10);
  exit(10, 10, 5);
  EXPECT_EQ(first->end, 5U);
  fork(10, 10, 2, 2, 9);
  const auto second = processes_.process(10);
  EXPECT_NE(first, second);
  EXPECT_EQ(second->space.at(0x1000), nullptr);
  EXPECT_EQ(second->start, 9U);
}

TEST_F(ProcessesTest, AMadeUpForkSaysNothingAboutTheMappings) {
  constexpr uint16_t fork_exec = 1U << 13U;
  mmap(10, 0x1000, 0x1000, "//anon", 0);
  comm(11, 11, "worker", false, 0);
  fork(11, 11, 10, 10, 0, fork_exec);
  const auto child = processes_.process(11);
  EXPECT_EQ(child->space.at(0x1000), nullptr);
  EXPECT_TRUE(child->uncertain_parent);
  EXPECT_EQ(child->comm, "worker");
}

TEST_F(ProcessesTest, AnExecutableMappingOfAFilesStartMayBeAJitdump) {
  mmap(10, 0x1000, 0x1000, "/tmp/jit-10.dump", 1);
  mmap(10, 0x3000, 0x1000, "/usr/lib/libc.so.6", 1);
  mmap(10, 0x5000, 0x1000, "//anon", 1);
  mmap(10, 0x7000, 0x1000, "/tmp/jit-10.dump", 2);
  const auto life = processes_.process(10);
  ASSERT_EQ(life->dump_candidates.size(), 1U);
  EXPECT_EQ(files_.info(life->dump_candidates[0].file).path, "/tmp/jit-10.dump");
}

TEST(AddressCache, KeepsAnswersByAddress) {
  AddressCache cache;
  for (uint32_t number = 0; number < 10'000; ++number) {
    const uint64_t ip = uint64_t{number} * 8;
    ASSERT_EQ(cache.at(ip).location, AddressCache::kNone) << ip;
    cache.set(ip, {number, number * 2});
  }
  for (uint32_t number = 0; number < 10'000; ++number) {
    const AddressCache::Entry entry = cache.at(uint64_t{number} * 8);
    ASSERT_EQ(entry.location, number);
    ASSERT_EQ(entry.note, number * 2);
  }
  EXPECT_EQ(cache.at(7).location, AddressCache::kNone);
  cache.set(8, {77, 0});
  EXPECT_EQ(cache.at(8).location, 77U);
  EXPECT_EQ(cache.at(16).location, 2U);
  cache.keep_for(5);
  EXPECT_EQ(cache.at(8).location, AddressCache::kNone);
}

}  // namespace
}  // namespace jitscope
