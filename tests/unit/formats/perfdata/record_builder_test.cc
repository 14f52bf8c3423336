// Every record that the builder makes is read back by the reader, trailer and all.
#include "formats/perfdata/record_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "formats/perfdata/reader.h"
#include "formats/perfdata/writer.h"

namespace jitscope::perfdata {
namespace {

constexpr uint64_t kSampleType =
    (1U << 0U) | (1U << 1U) | (1U << 2U) | (1U << 7U) | (1U << 16U);  // ip tid time cpu identifier

std::vector<Attribute> event() {
  std::vector<std::byte> attr(128);
  const auto put = [&](size_t offset, auto value) {
    std::memcpy(attr.data() + offset, &value, sizeof(value));
  };
  put(0, uint32_t{1});
  put(4, uint32_t{128});
  put(24, kSampleType);
  put(40, uint64_t{1U << 18U});
  std::vector<Attribute> attributes;
  attributes.push_back({std::move(attr), {5}, "e"});
  return attributes;
}

// Reads `records` and hands the only one to `look`.
void read_one(const std::string& records, const std::function<void(const Record&)>& look) {
  MemoryOutput output;
  Writer writer(output);
  ASSERT_TRUE(writer.begin(event()));
  ASSERT_TRUE(writer.records(records));
  ASSERT_TRUE(writer.finish());
  struct One : Handler {
    const std::function<void(const Record&)>& look;
    int seen = 0;
    explicit One(const std::function<void(const Record&)>& each) : look(each) {}
    bool on_sample(const Sample& /*sample*/) override { return true; }
    bool on_record(const Record& record) override {
      ++seen;
      look(record);
      return true;
    }
  } one(look);
  std::vector<std::byte> bytes(output.bytes().size());
  std::memcpy(bytes.data(), output.bytes().data(), bytes.size());
  auto reader = Reader::open(memory_source(std::move(bytes)));
  ASSERT_TRUE(reader);
  ASSERT_TRUE((*reader)->read(one));
  EXPECT_EQ(one.seen, 1);
  EXPECT_TRUE((*reader)->diagnostics().empty());
}

RecordHead head(uint16_t misc) {
  RecordHead out;
  out.misc = misc;
  out.pid = 21;
  out.tid = 22;
  out.time = 1234;
  out.id = 5;
  out.cpu = 3;
  return out;
}

void expect_trailer(const Record& record) {
  EXPECT_EQ(record.head.pid, 21);
  EXPECT_EQ(record.head.tid, 22);
  EXPECT_EQ(record.head.time, 1234);
  EXPECT_EQ(record.head.cpu, 3);
}

TEST(RecordBuilder, Mmap2) {
  for (const size_t length : {0U, 1U, 7U, 8U, 9U, 4095U, 5000U}) {
    const std::string path(length, 'p');
    Mmap mmap;
    mmap.pid = 21;
    mmap.tid = 22;
    mmap.start = 0x7f0000001000;
    mmap.length = 0x2000;
    mmap.page_offset = 0x3000;
    mmap.major = 8;
    mmap.minor = 1;
    mmap.inode = 99;
    mmap.generation = 3;
    mmap.path = path;
    std::string out;
    RecordBuilder(kSampleType, true).mmap2(out, head(kMiscUser), mmap, 5, 2);
    EXPECT_EQ(out.size() % 8, 0);
    read_one(out, [&](const Record& record) {
      expect_trailer(record);
      const auto* read = std::get_if<Mmap>(&record.body);
      ASSERT_NE(read, nullptr);
      EXPECT_EQ(read->start, mmap.start);
      EXPECT_EQ(read->length, mmap.length);
      EXPECT_EQ(read->page_offset, mmap.page_offset);
      EXPECT_EQ(read->inode, 99);
      EXPECT_EQ(read->generation, 3);
      EXPECT_TRUE(read->executable);
      EXPECT_FALSE(read->shared);
      EXPECT_FALSE(read->kernel);
      EXPECT_EQ(read->path, path.substr(0, 4095));
    });
  }
}

TEST(RecordBuilder, KernelMmap) {
  Mmap mmap;
  mmap.pid = UINT32_MAX;
  mmap.start = 0xffffffff81000000;
  mmap.length = 0x1000000;
  mmap.page_offset = 0xffffffff81000000;
  mmap.path = "[kernel.kallsyms]_text";
  std::string out;
  RecordBuilder(kSampleType, true).mmap(out, head(kMiscKernel), mmap);
  read_one(out, [&](const Record& record) {
    const auto* read = std::get_if<Mmap>(&record.body);
    ASSERT_NE(read, nullptr);
    EXPECT_TRUE(read->kernel);
    EXPECT_EQ(read->pid, UINT32_MAX);
    EXPECT_EQ(read->start, mmap.start);
    EXPECT_EQ(read->page_offset, mmap.page_offset);
    EXPECT_EQ(read->path, mmap.path);
  });
}

TEST(RecordBuilder, CommAndFork) {
  const RecordBuilder builder(kSampleType, true);
  std::string out;
  builder.comm(out, head(kMiscCommExec), {21, 22, std::string_view("a\0b", 3), true});
  read_one(out, [&](const Record& record) {
    expect_trailer(record);
    const auto* comm = std::get_if<Comm>(&record.body);
    ASSERT_NE(comm, nullptr);
    EXPECT_EQ(comm->pid, 21);
    EXPECT_EQ(comm->tid, 22);
    EXPECT_EQ(comm->name, "a");
    EXPECT_TRUE(comm->exec);
  });
  out.clear();
  builder.fork(out, head(kMiscForkExec), {1, 2, 3, 4, 5});
  read_one(out, [&](const Record& record) {
    const auto* fork = std::get_if<Fork>(&record.body);
    ASSERT_NE(fork, nullptr);
    EXPECT_EQ(fork->pid, 1);
    EXPECT_EQ(fork->parent_pid, 2);
    EXPECT_EQ(fork->tid, 3);
    EXPECT_EQ(fork->parent_tid, 4);
    EXPECT_EQ(fork->time, 5);
  });
}

TEST(RecordBuilder, NamespacesKsymbolAndLost) {
  const RecordBuilder builder(kSampleType, true);
  std::string out;
  Namespaces namespaces;
  namespaces.pid = 21;
  namespaces.tid = 21;
  namespaces.count = 7;
  namespaces.links[3] = {4, 4026531836};
  builder.namespaces(out, head(0), namespaces);
  read_one(out, [&](const Record& record) {
    const auto* read = std::get_if<Namespaces>(&record.body);
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->pid, 21);
    EXPECT_EQ(read->count, 7);
    EXPECT_EQ(read->links[3].device, 4);
    EXPECT_EQ(read->links[3].inode, 4026531836);
  });
  out.clear();
  builder.ksymbol(out, head(0), {0xffffffffc0001000, 64, 1, false, "bpf_prog_1234_f"});
  read_one(out, [&](const Record& record) {
    const auto* read = std::get_if<Ksymbol>(&record.body);
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->address, 0xffffffffc0001000);
    EXPECT_EQ(read->length, 64);
    EXPECT_EQ(read->kind, 1);
    EXPECT_FALSE(read->unregister);
    EXPECT_EQ(read->name, "bpf_prog_1234_f");
  });
  for (const bool samples : {false, true}) {
    out.clear();
    builder.lost(out, head(0), {17, samples});
    read_one(out, [&](const Record& record) {
      const auto* read = std::get_if<Lost>(&record.body);
      ASSERT_NE(read, nullptr);
      EXPECT_EQ(read->count, 17);
      EXPECT_EQ(read->samples, samples);
    });
  }
}

TEST(RecordBuilder, WithoutSampleIdAllThereIsNoTrailer) {
  std::string with;
  std::string without;
  RecordBuilder(kSampleType, true).comm(with, head(0), {1, 1, "abc", false});
  RecordBuilder(kSampleType, false).comm(without, head(0), {1, 1, "abc", false});
  EXPECT_EQ(with.size(), without.size() + 32);
  EXPECT_EQ(without.size(), 24);
}

}  // namespace
}  // namespace jitscope::perfdata
