// What a recording says about itself, in the sections of files and the records of pipes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "unit/formats/perfdata/collect.h"

namespace jitscope::perfdata::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<EventSpec> events() {
  return {{.ids = {11, 12}, .name = "cycles:P"}, {.config = 9, .ids = {13}, .name = "dummy:HG"}};
}

std::vector<std::pair<Feature, Bytes>> features(const PerfDataBuilder& b) {
  Bytes build_ids;
  const Bytes first = PerfDataBuilder::build_id_body(-1, std::string(20, 'k'), "[kernel.kallsyms]");
  build_ids.u32(0).u16(1U | misc_bit::kBuildIdSize).u16(static_cast<uint16_t>(first.size() + 8));
  build_ids.append(first.data());
  const Bytes second = PerfDataBuilder::build_id_body(5, std::string(16, 'u'), "/usr/bin/a");
  build_ids.u32(67).u16(2).u16(static_cast<uint16_t>(second.size() + 8)).append(second.data());
  return {
      {Feature::build_id, build_ids},
      {Feature::hostname, Bytes().header_text("machine")},
      {Feature::os_release, Bytes().header_text("6.1.0")},
      {Feature::version, Bytes().header_text("6.2.3")},
      {Feature::arch, Bytes().header_text("x86_64")},
      {Feature::cpu_count, Bytes().u32(8).u32(4)},
      {Feature::cpu_description, Bytes().header_text("a CPU")},
      {Feature::cpu_id, Bytes().header_text("maker,1,2")},
      {Feature::total_memory, Bytes().u64(4096)},
      {Feature::command_line,
       Bytes().u32(3).header_text("perf").header_text("record").header_text("a b")},
      {Feature::event_descriptions, b.event_names()},
      {Feature::sample_time, Bytes().u64(1000).u64(2000)},
      {Feature::clockid, Bytes().u64(1)},
      {Feature::clock_data, Bytes().u32(1).u32(1).u64(777).u64(888)},
      {static_cast<Feature>(5000), Bytes().chars("of a later perf")},
  };
}

void expect_features(const Header& header) {
  EXPECT_EQ(header.hostname, "machine");
  EXPECT_EQ(header.os_release, "6.1.0");
  EXPECT_EQ(header.version, "6.2.3");
  EXPECT_EQ(header.arch, "x86_64");
  EXPECT_EQ(header.cpus_available, 8U);
  EXPECT_EQ(header.cpus_online, 4U);
  EXPECT_EQ(header.cpu_description, "a CPU");
  EXPECT_EQ(header.cpu_id, "maker,1,2");
  EXPECT_EQ(header.total_memory, 4096U);
  EXPECT_THAT(header.command_line, ElementsAre("perf", "record", "a b"));
  ASSERT_EQ(header.events.size(), 2U);
  EXPECT_EQ(header.events[0].name, "cycles:P");
  EXPECT_EQ(header.events[1].name, "dummy:HG");
  EXPECT_EQ(header.first_sample_time, 1000U);
  EXPECT_EQ(header.last_sample_time, 2000U);
  EXPECT_EQ(header.clockid_resolution, 1U);
  ASSERT_TRUE(header.clock_pair);
  EXPECT_EQ(header.clock_pair->clockid, 1U);
  EXPECT_EQ(header.clock_pair->wall, 777U);
  EXPECT_EQ(header.clock_pair->clock, 888U);
  ASSERT_EQ(header.build_ids.size(), 2U);
  EXPECT_TRUE(header.build_ids[0].kernel);
  EXPECT_EQ(header.build_ids[0].pid, -1);
  EXPECT_EQ(header.build_ids[0].id.size(), 20U);
  EXPECT_EQ(header.build_ids[1].path, "/usr/bin/a");
  EXPECT_EQ(header.build_ids[1].id.size(), 16U);
}

TEST(PerfDataFeatures, OfAFile) {
  PerfDataBuilder b(events());
  b.sample({.time = 1});
  for (auto& [feature, content] : features(b)) {
    if (static_cast<uint64_t>(feature) < kFeatureBits) b.feature(feature, content);
  }
  const std::vector<std::byte> file = b.file();
  auto reader = Reader::open(memory_source(file));
  ASSERT_TRUE(reader);
  expect_features((*reader)->header());  // before read()
  EXPECT_TRUE((*reader)->diagnostics().empty());
  // A file that comes through a pipe has them at its end.
  const auto piped = collect(file, {.seekable = false, .piece = 11});
  ASSERT_TRUE(piped->status);
  EXPECT_EQ(piped->samples.size(), 1U);
  expect_features(piped->reader->header());
}

TEST(PerfDataFeatures, OfAPipe) {
  PerfDataBuilder b(events());
  for (const auto& [feature, content] : features(b)) b.feature_record(feature, content);
  b.sample({.time = 1});
  const auto got = collect(b.pipe(), {.seekable = false});
  ASSERT_TRUE(got->status);
  expect_features(got->reader->header());
  EXPECT_TRUE(got->reader->diagnostics().empty());
}

TEST(PerfDataFeatures, PipeThatDoesNotKnowItsTimes) {
  PerfDataBuilder b;
  b.feature_record(Feature::sample_time, Bytes().u64(0).u64(0));
  const auto got = collect(b.pipe());
  EXPECT_FALSE(got->reader->header().first_sample_time);
}

TEST(PerfDataFeatures, LaterNamesAndTimeConversion) {
  PerfDataBuilder b(events());
  b.record(RecordType::event_update, 0, Bytes().u64(2).u64(13).text("renamed"));
  b.record(RecordType::event_update, 0, Bytes().u64(0).u64(11).text("unit"));
  b.record(RecordType::event_update, 0, Bytes().u64(2).u64(4711).text("nobody"));
  b.record(RecordType::event_update, 0, Bytes().u32(2));
  b.record(RecordType::time_conv, 0, Bytes().u64(1).u64(2).u64(3).u64(4).u64(5).u8(1).u8(1));
  const auto got = collect(b.pipe());
  const Header& header = got->reader->header();
  EXPECT_EQ(header.events[0].name, "cpu-clock");
  EXPECT_EQ(header.events[1].name, "renamed");
  ASSERT_TRUE(header.time_conversion);
  EXPECT_EQ(header.time_conversion->shift, 1U);
  EXPECT_EQ(header.time_conversion->multiplier, 2U);
  EXPECT_EQ(header.time_conversion->zero, 3U);
  EXPECT_EQ(header.time_conversion->cycles, 4U);
  EXPECT_EQ(header.time_conversion->mask, 5U);
  EXPECT_TRUE(header.time_conversion->capable_short);

  PerfDataBuilder old;
  old.record(RecordType::time_conv, 0, Bytes().u64(1).u64(2).u64(3));
  const auto short_form = collect(old.file());
  ASSERT_TRUE(short_form->reader->header().time_conversion);
  EXPECT_EQ(short_form->reader->header().time_conversion->zero, 3U);
  EXPECT_FALSE(short_form->reader->header().time_conversion->capable_short);
}

TEST(PerfDataFeatures, NamesWhereNobodySaysThem) {
  const auto name = [](uint32_t type, uint64_t config, uint64_t flags = 0) {
    PerfDataBuilder b({{.type = type, .config = config, .flags = flags}});
    return collect(b.file())->reader->header().events[0].name;
  };
  EXPECT_EQ(name(0, 0), "cycles");
  EXPECT_EQ(name(0, 0x400000001), "instructions");  // of one kind of core
  EXPECT_EQ(name(0, 99), "hardware 0x63");
  EXPECT_EQ(name(1, 0, attr_bit::kExcludeKernel | attr_bit::kExcludeHypervisor), "cpu-clock:u");
  EXPECT_EQ(name(0, 0, 2ULL << attr_bit::kPreciseShift), "cycles:pp");
  EXPECT_EQ(name(0, 0, attr_bit::kExcludeUser | (1ULL << attr_bit::kPreciseShift)), "cycles:khp");
  EXPECT_EQ(name(1, 50), "software 0x32");
  EXPECT_EQ(name(2, 311), "tracepoint 311");
  EXPECT_EQ(name(4, 0x1c2), "raw 0x1c2");
  EXPECT_EQ(name(77, 5), "pmu 77 0x5");
}

TEST(PerfDataFeatures, ClockIsNoneWhenEventsDisagree) {
  const auto clock = [](std::vector<EventSpec> specs) {
    return collect(PerfDataBuilder(std::move(specs)).file())->reader->header().clock();
  };
  EXPECT_EQ(clock({{.use_clockid = false}}), -1);
  EXPECT_EQ(clock({{.clockid = 4}, {.clockid = 4}}), 4);
  EXPECT_EQ(clock({{.clockid = 4}, {.clockid = 1}}), -1);
  EXPECT_EQ(clock({{.clockid = 1}, {.use_clockid = false}}), -1);
}

TEST(PerfDataFeatures, DamagedOnesAreNotedAndPassedOver) {
  const Feature kinds[] = {Feature::hostname,    Feature::command_line, Feature::event_descriptions,
                           Feature::sample_time, Feature::clockid,      Feature::compressed,
                           Feature::clock_data,  Feature::build_id};
  const Bytes damages[] = {Bytes().u32(UINT32_MAX).u32(UINT32_MAX), Bytes().u32(3).u32(7).u32(1),
                           Bytes().u32(UINT32_MAX).u32(0).zeros(64).u32(UINT32_MAX).u32(9)};
  for (const Feature kind : kinds) {
    for (const Bytes& damage : damages) {
      PerfDataBuilder b;
      b.feature(kind, damage).sample({.time = 1});
      const auto got = collect(b.file());
      EXPECT_EQ(got->samples.size(), 1U) << static_cast<uint64_t>(kind);
      PerfDataBuilder p;
      p.feature_record(kind, damage).sample({.time = 1});
      EXPECT_EQ(collect(p.pipe())->samples.size(), 1U) << static_cast<uint64_t>(kind);
    }
  }
  PerfDataBuilder b;
  b.feature(Feature::hostname, Bytes().u32(UINT32_MAX)).feature(Feature::arch, Bytes().u8(1));
  b.sample({.time = 1});
  const auto got = collect(b.file());
  EXPECT_EQ(got->reader->diagnostics().count("feature section that cannot be read"), 2U);
  EXPECT_THAT(got->reader->header().hostname, IsEmpty());
}

}  // namespace
}  // namespace jitscope::perfdata::test
