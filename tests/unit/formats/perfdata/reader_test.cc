// Files and pipes: opening, events of different layouts, rounds and order, bounds of memory.
#include "formats/perfdata/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "unit/formats/perfdata/collect.h"

namespace jitscope::perfdata::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PerfDataBuilder two_rounds() {
  PerfDataBuilder b;
  b.comm(10, 10, "java")
      .mmap2({.pid = 10, .tid = 10, .start = 0x1000, .length = 0x2000, .path = "/lib/a.so"});
  // Two CPUs, one buffer behind the other; the second round begins before the first one's end.
  b.sample({.pid = 10, .tid = 11, .time = 100, .cpu = 0, .ip = 1});
  b.sample({.pid = 10, .tid = 11, .time = 300, .cpu = 0, .ip = 3});
  b.sample({.pid = 10, .tid = 12, .time = 200, .cpu = 1, .ip = 2});
  b.round();
  b.sample({.pid = 10, .tid = 11, .time = 400, .cpu = 0, .ip = 5});
  b.sample({.pid = 10, .tid = 12, .time = 250, .cpu = 1, .ip = 4});
  b.sample({.pid = 10, .tid = 12, .time = 500, .cpu = 1, .ip = 6});
  b.round();
  return b;
}

TEST(PerfDataReader, FileAndPipeGiveTheSame) {
  const PerfDataBuilder b = two_rounds();
  for (const bool pipe : {false, true}) {
    for (const bool seekable : {false, true}) {
      for (const size_t piece : {size_t{1}, size_t{13}, size_t{100000}}) {
        const auto got =
            collect(pipe ? b.pipe() : b.file(), {.seekable = seekable, .piece = piece});
        ASSERT_TRUE(got->status) << to_string(got->status.error());
        EXPECT_EQ(got->reader->header().pipe, pipe);
        EXPECT_THAT(got->times(), ElementsAre(0, 0, 100, 200, 250, 300, 400, 500));
        EXPECT_TRUE(got->reader->diagnostics().empty());
        ASSERT_EQ(got->reader->header().events.size(), 1U);
        EXPECT_EQ(got->reader->header().events[0].name, "cpu-clock");
        EXPECT_EQ(got->reader->header().clock(), 1);
        ASSERT_EQ(got->samples.size(), 6U);
        EXPECT_EQ(got->samples[1].ip, 2U);
        EXPECT_EQ(got->samples[1].head.tid, 12U);
        EXPECT_EQ(got->samples[1].head.cpu, 1U);
        EXPECT_EQ(got->samples[1].mode, CpuMode::user);
        ASSERT_EQ(got->all<Mmap>().size(), 1U);
        EXPECT_EQ(got->all<Mmap>()[0].path, "/lib/a.so");
      }
    }
  }
}

TEST(PerfDataReader, UnorderedKeepsFileOrder) {
  const auto got = collect(two_rounds().file(), {.read = {.in_order = false}});
  EXPECT_THAT(got->times(), ElementsAre(0, 0, 100, 300, 200, 400, 250, 500));
}

TEST(PerfDataReader, OffsetsPointIntoTheFile) {
  const std::vector<std::byte> file = two_rounds().file();
  const auto got = collect(file);
  for (const Sample& sample : got->samples) {
    // Head, identifier, then the address.
    const size_t at = sample.head.offset + 16;
    ASSERT_LE(at + 8, file.size());
    uint64_t ip = 0;
    std::memcpy(&ip, file.data() + at, 8);
    EXPECT_EQ(ip, sample.ip);
  }
}

TEST(PerfDataReader, HandlerStops) {
  const auto got = collect(two_rounds().file(), {.stop_after = 3});
  EXPECT_TRUE(got->status);
  EXPECT_EQ(got->handed, 3U);
  Collected again;
  EXPECT_FALSE(got->reader->read(again));
}

// A round may overlap the next one, so the first FINISHED_ROUND alone lets nothing out; what is
// older than something already out is handed out at once and counted.
TEST(PerfDataReader, RoundsLetOutWhatTheRoundBeforeHeld) {
  PerfDataBuilder b;
  b.sample({.time = 100}).round().sample({.time = 50}).sample({.time = 300}).round();
  b.sample({.time = 60}).sample({.time = 400}).round();
  const auto got = collect(b.file());
  EXPECT_THAT(got->times(), ElementsAre(50, 100, 60, 300, 400));
  EXPECT_EQ(got->reader->diagnostics().count("record out of order"), 1U);
}

TEST(PerfDataReader, EqualTimesKeepTheirOrder) {
  PerfDataBuilder b;
  for (uint64_t i = 0; i < 100; ++i) b.sample({.time = 1000 - i / 10 * 100, .ip = i});
  const auto got = collect(b.file());
  ASSERT_EQ(got->samples.size(), 100U);
  for (size_t i = 1; i < 100; ++i) {
    const Sample& a = got->samples[i - 1];
    const Sample& c = got->samples[i];
    EXPECT_TRUE(a.head.time < c.head.time || (a.head.time == c.head.time && a.ip < c.ip)) << i;
  }
}

// Without rounds records wait until too much waits; then the oldest leave, and only those that come
// far too late are out of order.
TEST(PerfDataReader, WaitingIsBounded) {
  PerfDataBuilder b;
  constexpr uint64_t count = 20000;
  const std::vector<uint64_t> chain(40, 0x1234);
  for (uint64_t i = 0; i < count; ++i) {
    b.sample({.time = 1000 + (i ^ 1U), .callchain = chain});  // neighbours swapped
  }
  const std::vector<std::byte> file = b.file();
  const auto all = collect(file);
  EXPECT_TRUE(all->reader->diagnostics().empty());
  const auto few = collect(file, {.read = {.max_waiting_bytes = 100000}});
  ASSERT_EQ(few->samples.size(), count);
  EXPECT_GT(few->reader->diagnostics().count(
                "records left early: too many waited for the end of their round"),
            10U);
  EXPECT_EQ(few->reader->diagnostics().count("record out of order"), 0U);
  EXPECT_TRUE(std::ranges::is_sorted(few->times()));
  const auto none = collect(file, {.read = {.max_waiting_bytes = 0}});
  ASSERT_EQ(none->samples.size(), count);
  EXPECT_EQ(none->reader->diagnostics().count("record out of order"), count / 2);
}

TEST(PerfDataReader, SampleOfManyChunksIsWhole) {
  PerfDataBuilder b;
  constexpr uint64_t count = 3000;
  for (uint64_t i = 0; i < count; ++i) {
    std::vector<uint64_t> chain(300 + i % 400);
    for (size_t k = 0; k < chain.size(); ++k) chain[k] = i * 1000 + k;
    b.sample({.time = 1 + i, .ip = i, .callchain = chain});
    if (i % 100 == 99) b.round();
  }
  const auto got = collect(b.file());
  ASSERT_EQ(got->samples.size(), count);
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(got->samples[i].callchain.size(), 300 + i % 400);
    ASSERT_EQ(got->samples[i].callchain.front(), i * 1000);
    ASSERT_EQ(got->samples[i].callchain.back(), i * 1000 + 299 + i % 400);
  }
}

TEST(PerfDataReader, EventsOfDifferentLayouts) {
  namespace bit = sample_bit;
  const std::vector<EventSpec> events = {
      {.sample_type = bit::kIdentifier | bit::kIp | bit::kTid | bit::kTime, .ids = {7, 8}},
      {.config = 3,
       .sample_type = bit::kIdentifier | bit::kIp | bit::kTid | bit::kTime | bit::kAddress |
                      bit::kCpu | bit::kPeriod | bit::kCallchain,
       .ids = {9}},
      {.config = 9, .sample_type = bit::kIdentifier | bit::kTid | bit::kTime | bit::kCpu}};
  PerfDataBuilder b(events);
  b.sample({.event = 1,
            .pid = 1,
            .time = 30,
            .cpu = 5,
            .ip = 0x11,
            .address = 0x22,
            .period = 33,
            .callchain = {0x44, 0x55}});
  b.sample({.event = 0, .pid = 2, .time = 10, .ip = 0x66, .id = 8});
  b.comm(3, 3, "x", {.pid = 3, .tid = 3, .time = 20, .cpu = 6, .event = 2});
  b.fork(4, 3, {.pid = 3, .tid = 3, .time = 40, .event = 0});
  for (const bool pipe : {false, true}) {
    const auto got = collect(pipe ? b.pipe() : b.file());
    EXPECT_THAT(got->times(), ElementsAre(10, 20, 30, 40));
    ASSERT_EQ(got->samples.size(), 2U);
    EXPECT_EQ(got->samples[0].event, 0U);
    EXPECT_EQ(got->samples[0].head.id, 8U);
    EXPECT_EQ(got->samples[0].head.cpu, UINT32_MAX);
    EXPECT_EQ(got->samples[1].event, 1U);
    EXPECT_EQ(got->samples[1].address, 0x22U);
    EXPECT_EQ(got->samples[1].period, 33U);
    EXPECT_EQ(got->samples[1].head.cpu, 5U);
    EXPECT_THAT(got->samples[1].callchain, ElementsAre(0x44, 0x55));
    ASSERT_EQ(got->all<Comm>().size(), 1U);
    EXPECT_EQ(got->all<Comm>()[0].name, "x");
    EXPECT_EQ(got->reader->header().events[1].name, "context-switches");
    EXPECT_EQ(got->reader->header().events[2].name, "dummy");
  }
}

TEST(PerfDataReader, EventByIdWithoutIdentifier) {
  namespace bit = sample_bit;
  const uint64_t common = bit::kIp | bit::kTid | bit::kTime | bit::kId;
  PerfDataBuilder b({{.sample_type = common}, {.sample_type = common | bit::kPeriod}});
  b.sample({.event = 1, .time = 2, .period = 5}).sample({.event = 0, .time = 1});
  b.comm(1, 1, "a", {.time = 3, .event = 1});
  const auto got = collect(b.file());
  ASSERT_EQ(got->samples.size(), 2U);
  EXPECT_EQ(got->samples[0].event, 0U);
  EXPECT_EQ(got->samples[1].event, 1U);
  EXPECT_EQ(got->samples[1].period, 5U);
  EXPECT_THAT(got->times(), ElementsAre(1, 2, 3));
}

TEST(PerfDataReader, LayoutsThatNothingTellsApartAreRefused) {
  namespace bit = sample_bit;
  for (const uint64_t other : {uint64_t{bit::kIp}, uint64_t{bit::kIdentifier | bit::kIp}}) {
    PerfDataBuilder b({{.sample_type = bit::kIp | bit::kTime}, {.sample_type = other}});
    const auto file = Reader::open(memory_source(b.file()));
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind, ErrorKind::damaged);
    auto pipe = Reader::open(memory_source(b.pipe()));
    ASSERT_TRUE(pipe);
    Collected collected;
    const Status status = (*pipe)->read(collected);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::damaged);
    EXPECT_EQ(status.error().where, "memory");
  }
}

TEST(PerfDataReader, AttributesOfEverySize) {
  for (const uint32_t size : {64U, 72U, 80U, 96U, 104U, 112U, 120U, 128U, 136U, 200U}) {
    PerfDataBuilder b({{.use_clockid = size >= 96, .clockid = 4, .size = size}});
    b.sample({.time = 5, .ip = 0x77});
    for (const bool pipe : {false, true}) {
      const auto got = collect(pipe ? b.pipe() : b.file());
      ASSERT_EQ(got->samples.size(), 1U) << size;
      EXPECT_EQ(got->samples[0].ip, 0x77U);
      EXPECT_EQ(got->reader->header().clock(), size >= 96 ? 4 : -1);
      EXPECT_THAT(got->reader->header().events[0].ids, ElementsAre(100));
    }
  }
}

TEST(PerfDataReader, RecordsWithoutTimeKeepTheirPlace) {
  namespace bit = sample_bit;
  PerfDataBuilder none({{.sample_type = bit::kIp}});
  none.sample({.ip = 3}).sample({.ip = 1}).round().sample({.ip = 2});
  const auto untimed = collect(none.file());
  ASSERT_EQ(untimed->samples.size(), 3U);
  EXPECT_EQ(untimed->samples[0].ip, 3U);
  EXPECT_EQ(untimed->samples[1].ip, 1U);
  EXPECT_FALSE(untimed->samples[1].head.has_time);

  // Without sample_id_all a COMM has no time: it stays behind the record before it. FORK says its
  // own.
  PerfDataBuilder old({{.sample_id_all = false}});
  old.sample({.time = 30}).sample({.time = 20}).comm(1, 1, "late").sample({.time = 25});
  old.fork(5, 1, {.time = 22});
  const auto got = collect(old.file());
  ASSERT_EQ(got->heads.size(), 5U);
  EXPECT_EQ(got->heads[0].time, 20U);
  EXPECT_EQ(got->heads[1].type, RecordType::comm);
  EXPECT_EQ(got->heads[2].type, RecordType::fork);
  EXPECT_EQ(got->heads[2].time, 22U);
  EXPECT_EQ(got->heads[3].time, 25U);
}

TEST(PerfDataReader, PayloadsBehindRecordsAreSkipped) {
  for (const size_t payload : {size_t{0}, size_t{24}, size_t{100}, size_t{3} << 20U}) {
    PerfDataBuilder b;
    b.sample({.time = 1, .ip = 1});
    b.record(RecordType::auxtrace, 0,
             Bytes().u64(payload).u64(0).u64(0).u32(0).u32(0).u32(0).u32(0));
    b.raw(std::vector<std::byte>(payload, std::byte{0xff}));
    b.sample({.time = 2, .ip = 2});
    const size_t padded = (payload + 7) / 8 * 8;
    b.record(RecordType::tracing_data, 0, Bytes().u32(static_cast<uint32_t>(payload)).u32(0));
    b.raw(std::vector<std::byte>(padded, std::byte{0xff}));
    b.sample({.time = 3, .ip = 3, .callchain = {1, 2, 3}});
    for (const bool seekable : {false, true}) {
      const auto got = collect(b.pipe(), {.seekable = seekable, .piece = 1000});
      ASSERT_TRUE(got->status);
      EXPECT_THAT(got->times(), ElementsAre(1, 2, 3)) << payload;
      EXPECT_TRUE(got->reader->diagnostics().empty()) << payload;
      ASSERT_EQ(got->samples.size(), 3U);
      EXPECT_THAT(got->samples[2].callchain, ElementsAre(1, 2, 3));
    }
  }
}

TEST(PerfDataReader, UnknownRecordsAreHandedOutAsTheyAre) {
  PerfDataBuilder b;
  b.record(static_cast<RecordType>(60), 5, Bytes().u64(1).u64(2), {.time = 10});
  b.record(static_cast<RecordType>(5000), 0, Bytes().u64(3));
  b.sample({.time = 20});
  const auto got = collect(b.file());
  ASSERT_EQ(got->records.size(), 2U);
  EXPECT_EQ(std::get<Other>(got->records[0].body).body.size(), 8U);   // the later type: at once
  EXPECT_EQ(std::get<Other>(got->records[1].body).body.size(), 16U);  // without its trailer
  EXPECT_EQ(got->records[1].head.time, 10U);
  EXPECT_EQ(got->samples.size(), 1U);
}

TEST(PerfDataReader, UnknownEventIsCounted) {
  PerfDataBuilder same({EventSpec{}, EventSpec{.config = 1}});
  same.sample({.time = 1, .ip = 9, .id = 4711});
  const auto read = collect(same.file());
  ASSERT_EQ(read->samples.size(), 1U);  // all events lie the same
  EXPECT_EQ(read->samples[0].ip, 9U);
  EXPECT_EQ(read->reader->diagnostics().count("sample of an unknown event"), 1U);

  PerfDataBuilder other({EventSpec{}, EventSpec{.sample_type = kUsualSample | sample_bit::kRaw}});
  other.sample({.time = 1, .id = 4711}).sample({.time = 2});
  const auto dropped = collect(other.file());
  ASSERT_EQ(dropped->samples.size(), 1U);
  EXPECT_EQ(dropped->samples[0].head.time, 2U);
  EXPECT_EQ(dropped->reader->diagnostics().count("sample of an unknown event"), 1U);
}

TEST(PerfDataReader, BytesReadCoverTheInput) {
  const std::vector<std::byte> pipe = two_rounds().pipe();
  Meter meter;
  ReadOptions options;
  options.meter = &meter;
  (void)collect(pipe, {.read = options, .seekable = false});
  EXPECT_EQ(meter.done, pipe.size());
  EXPECT_EQ(meter.whole, 0U);
  (void)collect(pipe, {.read = options});
  EXPECT_EQ(meter.done, pipe.size());
  EXPECT_EQ(meter.whole, pipe.size());
}

}  // namespace
}  // namespace jitscope::perfdata::test
