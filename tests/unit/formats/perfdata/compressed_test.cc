// Records inside COMPRESSED and COMPRESSED2 records: one zstd stream, wherever it is cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "unit/formats/perfdata/collect.h"

namespace jitscope::perfdata::test {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kCount = 2000;

PerfDataBuilder inner_records() {
  PerfDataBuilder inner;
  for (uint64_t i = 0; i < kCount; ++i) {
    std::vector<uint64_t> chain(i % 60);
    std::iota(chain.begin(), chain.end(), i * 7919);
    inner.sample({.pid = 1, .time = 100 + (i ^ 1U), .ip = i, .callchain = chain});
  }
  return inner;
}

void expect_all(const Collected& got) {
  ASSERT_TRUE(got.status);
  ASSERT_EQ(got.samples.size(), kCount);
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t k = i ^ 1U;  // neighbours were swapped
    ASSERT_EQ(got.samples[i].ip, k);
    ASSERT_EQ(got.samples[i].callchain.size(), k % 60);
    if (k % 60 != 0) {
      ASSERT_EQ(got.samples[i].callchain.back(), k * 7919 + k % 60 - 1);
    }
  }
}

TEST(PerfDataCompressed, RecordsStraddle) {
  const PerfDataBuilder inner = inner_records();
  for (const bool second : {false, true}) {
    for (const size_t piece : {size_t{1}, size_t{7}, size_t{100}, size_t{5000}, size_t{60000}}) {
      PerfDataBuilder b;
      b.comm(1, 1, "first").compressed(inner, piece, second).round();
      for (const bool pipe : {false, true}) {
        const auto got = collect(pipe ? b.pipe() : b.file(), {.seekable = !pipe});
        SCOPED_TRACE(piece);
        expect_all(*got);
        EXPECT_EQ(got->all<Comm>().size(), 1U);
        EXPECT_TRUE(got->reader->diagnostics().empty());
      }
    }
  }
}

TEST(PerfDataCompressed, OffsetsAreThoseOfTheCompressedRecord) {
  PerfDataBuilder b;
  b.compressed(inner_records(), 200);
  const std::vector<std::byte> file = b.file();
  const auto got = collect(file);
  for (const Sample& sample : got->samples) {
    uint32_t type = 0;
    ASSERT_LE(sample.head.offset + 4, file.size());
    std::memcpy(&type, file.data() + sample.head.offset, 4);
    EXPECT_EQ(type, static_cast<uint32_t>(RecordType::compressed));
  }
}

TEST(PerfDataCompressed, RoundsInsideAndOutside) {
  PerfDataBuilder inner;
  inner.sample({.time = 20}).sample({.time = 10}).round().sample({.time = 30}).round();
  PerfDataBuilder b;
  b.sample({.time = 15}).compressed(inner).sample({.time = 25});
  const auto got = collect(b.file());
  EXPECT_THAT(got->times(), ElementsAre(10, 15, 20, 25, 30));
}

TEST(PerfDataCompressed, HighlyCompressedIsWalkedInBoundedMemory) {
  PerfDataBuilder inner;
  const std::vector<uint64_t> chain(8000, 0);
  for (uint64_t i = 0; i < 500; ++i) inner.sample({.time = 1 + i, .callchain = chain});
  PerfDataBuilder b;
  b.compressed(inner);
  ASSERT_LT(b.records().size(), inner.records().size() / 100);
  const auto got = collect(b.file(), {.read = {.max_waiting_bytes = 1U << 20U}});
  EXPECT_EQ(got->samples.size(), 500U);
  EXPECT_GT(got->reader->diagnostics().count(
                "records left early: too many waited for the end of their round"),
            0U);
}

TEST(PerfDataCompressed, DamageKeepsTheRest) {
  const PerfDataBuilder inner = inner_records();
  PerfDataBuilder whole;
  whole.compressed(inner, 1000);
  std::vector<std::byte> records = whole.records();
  // The bodies of those in the middle third; later ones cannot be unpacked without them.
  const size_t count = records.size() / 1008;
  ASSERT_GT(count, 6U);
  for (size_t i = count / 3; i < count * 2 / 3; ++i) {
    std::fill_n(records.begin() + static_cast<ptrdiff_t>(i * 1008 + 8), 1000, std::byte{0xff});
  }
  PerfDataBuilder b;
  b.sample({.time = 1}).raw(records).sample({.time = 1000000});
  const auto got = collect(b.file());
  EXPECT_TRUE(got->status);
  EXPECT_GT(got->samples.size(), 2U);
  EXPECT_LT(got->samples.size(), kCount + 2);
  EXPECT_EQ(got->samples.back().head.time, 1000000U);
  EXPECT_GT(got->reader->diagnostics().count("compressed record that cannot be read"), 0U);
}

TEST(PerfDataCompressed, NotZstd) {
  PerfDataBuilder junk;
  junk.record(RecordType::compressed, 0, Bytes().chars("this is no zstd frame"));
  junk.record(RecordType::compressed, 0, Bytes());
  junk.record(RecordType::compressed2, 0, Bytes().u64(UINT64_MAX).u64(1));
  junk.record(RecordType::compressed2, 0, Bytes().u32(1));
  junk.sample({.time = 1});
  const auto got = collect(junk.file());
  EXPECT_EQ(got->samples.size(), 1U);
  EXPECT_EQ(got->reader->diagnostics().count("compressed record that cannot be read"), 4U);

  PerfDataBuilder other;
  other.feature(Feature::compressed, Bytes().u32(1).u32(9).u32(0).u32(0).u32(0));
  other.compressed(inner_records());
  const auto refused = collect(other.file());
  ASSERT_FALSE(refused->status);
  EXPECT_EQ(refused->status.error().kind, ErrorKind::not_possible);
  EXPECT_FALSE(refused->status.error().hint.empty());
}

TEST(PerfDataCompressed, CompressedInsideCompressedIsRefused) {
  PerfDataBuilder innermost;
  innermost.sample({.time = 1});
  PerfDataBuilder inner;
  inner.compressed(innermost).sample({.time = 2});
  PerfDataBuilder b;
  b.compressed(inner);
  const auto got = collect(b.file());
  EXPECT_THAT(got->times(), ElementsAre(2));
  EXPECT_EQ(got->reader->diagnostics().count("compressed record inside a compressed one"), 1U);
}

TEST(PerfDataCompressed, DamagedRecordInsideEndsTheStreamAlone) {
  PerfDataBuilder inner;
  inner.sample({.time = 1}).record_of_size(RecordType::comm, 0, Bytes(), 3).sample({.time = 2});
  PerfDataBuilder b;
  b.compressed(inner).sample({.time = 3});
  const auto got = collect(b.file());
  EXPECT_THAT(got->times(), ElementsAre(1, 3));
}

}  // namespace
}  // namespace jitscope::perfdata::test
