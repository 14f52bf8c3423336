// Files that are cut, foreign, or made to hurt: an error or what they hold, in bounded time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/perf_data_check.h"
#include "unit/formats/perfdata/collect.h"

namespace jitscope::perfdata::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void overwrite(std::vector<std::byte>& bytes, size_t at, uint64_t word) {
  ASSERT_LE(at + 8, bytes.size());
  std::memcpy(bytes.data() + at, &word, 8);
}

Error open_error(std::vector<std::byte> bytes, bool seekable = true) {
  const auto reader = Reader::open(memory_source(std::move(bytes), seekable));
  EXPECT_FALSE(reader);
  return reader ? Error{} : reader.error();
}

PerfDataBuilder some() {
  PerfDataBuilder b;
  b.comm(1, 1, "a").sample({.time = 1, .callchain = {1, 2, 3}}).sample({.time = 2}).round();
  b.feature(Feature::hostname, Bytes().header_text("host"));
  return b;
}

TEST(PerfDataDamage, NoPerfData) {
  for (const bool seekable : {false, true}) {
    EXPECT_EQ(open_error({}, seekable).kind, ErrorKind::damaged);
    EXPECT_EQ(open_error(Bytes().chars("PERF").data(), seekable).kind, ErrorKind::damaged);
    EXPECT_EQ(open_error(Bytes().chars("PERFILE2").data(), seekable).kind, ErrorKind::damaged);
    EXPECT_EQ(open_error(Bytes()
                             .chars("\x7f"
                                    "ELF")
                             .zeros(200)
                             .data(),
                         seekable)
                  .kind,
              ErrorKind::damaged);
    EXPECT_EQ(open_error(Bytes().chars("PERFILE2").u64(104).zeros(50).data(), seekable).kind,
              ErrorKind::damaged);
  }
}

TEST(PerfDataDamage, BigEndianAndOldFormatsSayWhatTheyAre) {
  const Error big = open_error(Bytes().chars("2ELIFREP").zeros(200).data());
  EXPECT_EQ(big.kind, ErrorKind::not_possible);
  EXPECT_THAT(big.what, HasSubstr("big-endian"));
  EXPECT_FALSE(big.hint.empty());
  const Error old = open_error(Bytes().chars("PERFFILE").zeros(200).data());
  EXPECT_EQ(old.kind, ErrorKind::not_possible);
  EXPECT_FALSE(old.hint.empty());
}

TEST(PerfDataDamage, HeaderFields) {
  const std::vector<std::byte> good = some().file();
  for (const uint64_t value : {uint64_t{0}, uint64_t{79}, uint64_t{1} << 40U, UINT64_MAX}) {
    std::vector<std::byte> file = good;
    overwrite(file, 16, value);  // size of an attribute
    EXPECT_EQ(open_error(file).kind, ErrorKind::damaged) << value;
    EXPECT_EQ(open_error(file, false).kind, ErrorKind::damaged) << value;
  }
  for (const size_t field : {24, 32}) {  // where attributes are, how many bytes
    for (const uint64_t value : {uint64_t{0}, UINT64_MAX}) {
      std::vector<std::byte> file = good;
      overwrite(file, field, value);
      const auto reader = Reader::open(memory_source(file));
      EXPECT_TRUE(reader || reader.error().kind == ErrorKind::damaged);
    }
  }
  // Where the records are: nothing is there, and that is noted.
  std::vector<std::byte> file = good;
  overwrite(file, 40, UINT64_MAX - 3);
  const auto got = collect(file);
  EXPECT_TRUE(got->samples.empty());
  EXPECT_GT(got->reader->diagnostics().count("perf.data cut short"), 0U);
}

TEST(PerfDataDamage, EveryTruncationGivesWhatItHolds) {
  const PerfDataBuilder b = some();
  const std::vector<std::byte> whole = b.file();
  const size_t data = whole.size() - b.records().size() - 16 - 68;
  for (const bool seekable : {false, true}) {
    size_t most = 0;
    for (size_t size = data; size < whole.size(); ++size) {
      const auto got = collect({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)},
                               {.seekable = seekable, .piece = 64});
      ASSERT_TRUE(got->status);
      EXPECT_GE(got->handed, most);
      EXPECT_LE(got->handed, 4U);
      most = got->handed;
      EXPECT_FALSE(got->reader->diagnostics().empty()) << size;
    }
    EXPECT_EQ(most, 4U);
  }
  const std::vector<std::byte> pipe = b.pipe();
  for (size_t size = 16; size < pipe.size(); ++size) {
    const auto got = collect({pipe.begin(), pipe.begin() + static_cast<ptrdiff_t>(size)});
    ASSERT_TRUE(got->status);
    EXPECT_LE(got->handed, 5U);
  }
}

TEST(PerfDataDamage, RecordingThatWasKilled) {
  PerfDataBuilder b = some();
  const std::vector<std::byte> file = b.file(0);  // the size is written last
  const auto got = collect({file.begin(), file.end() - 16 - 68});
  EXPECT_EQ(got->samples.size(), 2U);
  EXPECT_EQ(got->reader->diagnostics().count("perf.data cut short"), 1U);
}

TEST(PerfDataDamage, RecordSmallerThanItsHead) {
  for (const uint16_t size : {uint16_t{0}, uint16_t{1}, uint16_t{7}}) {
    PerfDataBuilder b;
    b.sample({.time = 1}).record_of_size(RecordType::comm, 0, Bytes(), size).sample({.time = 2});
    const auto got = collect(b.file());
    EXPECT_TRUE(got->status);
    EXPECT_THAT(got->times(), ElementsAre(1));
    EXPECT_EQ(got->reader->diagnostics().count(
                  "record smaller than its own head: the rest cannot be read"),
              1U);
  }
}

TEST(PerfDataDamage, PayloadSizesBeyondTheFile) {
  for (const uint64_t size : {uint64_t{1000}, uint64_t{1} << 62U, UINT64_MAX}) {
    for (const bool seekable : {false, true}) {
      PerfDataBuilder b;
      b.sample({.time = 1});
      b.record(RecordType::auxtrace, 0, Bytes().u64(size).zeros(32)).sample({.time = 2});
      EXPECT_THAT(collect(b.pipe(), {.seekable = seekable})->times(), ElementsAre(1));
      EXPECT_THAT(collect(b.file(), {.seekable = seekable})->times(), ElementsAre(1));
    }
  }
}

TEST(PerfDataDamage, AttributeRecordsThatMakeNoSense) {
  for (const uint32_t size : {1U, 63U, 500U, UINT32_MAX}) {
    PerfDataBuilder b{std::vector<EventSpec>{}};
    b.record(RecordType::header_attr, 0, Bytes().u32(1).u32(size).zeros(128));
    const auto got = collect(b.pipe());
    ASSERT_FALSE(got->status) << size;
    EXPECT_EQ(got->status.error().kind, ErrorKind::damaged);
  }
  // No attribute at all: records still come, samples cannot be read.
  PerfDataBuilder none{std::vector<EventSpec>{}};
  none.record(RecordType::sample, 2, Bytes().zeros(64));
  none.record(RecordType::comm, 0, Bytes().u32(1).u32(1).text("x"));
  const auto got = collect(none.pipe());
  EXPECT_EQ(got->all<Comm>().size(), 1U);
  EXPECT_TRUE(got->samples.empty());
}

TEST(PerfDataDamage, ManyIdsAndEventsAreBounded) {
  // Every attribute claims the whole file as its ids.
  PerfDataBuilder b(std::vector<EventSpec>(300));
  std::vector<std::byte> file = b.file();
  const size_t attrs = file.size() - 300 * 152;
  for (size_t i = 0; i < 300; ++i) {
    overwrite(file, attrs + i * 152 + 136, 0);
    overwrite(file, attrs + i * 152 + 144, UINT64_MAX);
  }
  file.resize(file.size() + (1U << 20U));
  const auto got = collect(file);
  size_t ids = 0;
  for (const EventInfo& event : got->reader->header().events) ids += event.ids.size();
  EXPECT_LE(ids, size_t{1} << 20U);
  EXPECT_EQ(got->reader->header().events.size(), 300U);
}

// Falling times make every record a run of its own, and rounds that release nothing must not cost.
TEST(PerfDataDamage, FallingTimesAndEmptyRounds) {
  PerfDataBuilder b(std::vector{EventSpec{.sample_type = sample_bit::kTime}});
  constexpr uint64_t count = 100000;
  for (uint64_t i = 0; i < count; ++i) b.sample({.time = (uint64_t{1} << 60U) - i});
  for (uint64_t i = 0; i < count; ++i) b.sample({.time = 1 + i}).round();
  const auto got = collect(b.file());
  EXPECT_EQ(got->samples.size(), 2 * count);
}

TEST(PerfDataDamage, EveryByteFlipped) {
  PerfDataBuilder inner;
  inner.sample({.time = 5}).comm(2, 2, "inner", {.time = 4});
  PerfDataBuilder b;
  b.mmap2({.pid = 1, .path = "/a", .stamp = {.time = 1}}).sample({.time = 3, .callchain = {1}});
  b.compressed(inner).round().feature(Feature::event_descriptions, b.event_names());
  for (const bool pipe : {false, true}) {
    const std::vector<std::byte> good = pipe ? b.pipe() : b.file();
    for (size_t i = 0; i < good.size(); ++i) {
      // In turns: each reading costs a millisecond under sanitizers.
      constexpr std::array masks = {std::byte{1}, std::byte{0xff}, std::byte{0x80}};
      std::vector<std::byte> bad = good;
      bad[i] ^= masks[i % masks.size()];
      EXPECT_EQ(fuzz::check_perf_data(bad), "") << i;
    }
  }
}

TEST(PerfDataDamage, FuzzCorpusReplays) {
  const std::filesystem::path corpus =
      std::filesystem::path(JITSCOPE_SOURCE_DIR) / "fuzz/corpus/perf_data";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(in)), {});
    const auto bytes = std::as_bytes(std::span(content));
    EXPECT_EQ(fuzz::check_perf_data(bytes), "") << entry.path();
    ++files;
  }
  EXPECT_GT(files, 10U);
}

}  // namespace
}  // namespace jitscope::perfdata::test
