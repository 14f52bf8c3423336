#include "formats/perfdata/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "formats/perfdata/reader.h"
#include "formats/perfdata/record_builder.h"

namespace jitscope::perfdata {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kIp = 1;
constexpr uint64_t kTid = 1U << 1U;
constexpr uint64_t kTime = 1U << 2U;
constexpr uint64_t kIdentifier = 1U << 16U;
constexpr uint64_t kSampleType = kIp | kTid | kTime | kIdentifier;

// struct perf_event_attr of 128 bytes, as far as a reader looks at it.
std::vector<std::byte> attr_bytes(uint32_t type = 1, uint64_t config = 0) {
  std::vector<std::byte> bytes(128);
  const auto put = [&](size_t offset, auto value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
  };
  put(0, type);
  put(4, uint32_t{128});
  put(8, config);
  put(16, uint64_t{999});  // sample_freq
  put(24, kSampleType);
  constexpr uint64_t freq = 1U << 10U;
  constexpr uint64_t sample_id_all = 1U << 18U;
  constexpr uint64_t use_clockid = 1U << 25U;
  put(40, freq | sample_id_all | use_clockid);
  put(92, int32_t{1});  // clockid: CLOCK_MONOTONIC
  return bytes;
}

std::vector<Attribute> one_event(std::vector<uint64_t> ids = {7, 8}) {
  std::vector<Attribute> attributes;
  attributes.push_back({attr_bytes(), std::move(ids), "cpu-clock"});
  return attributes;
}

std::string sample(uint64_t id, uint64_t ip, uint64_t time) {
  std::string out;
  const auto put = [&](auto value) {
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    out.append(bytes, sizeof(value));
  };
  put(uint32_t{9});
  put(uint16_t{2});
  put(uint16_t{40});
  put(id);
  put(ip);
  put(uint32_t{11});
  put(uint32_t{12});
  put(time);
  return out;
}

struct Taken : Handler {
  std::vector<uint64_t> addresses;
  std::vector<std::string> comms;
  bool on_sample(const Sample& each) override {
    addresses.push_back(each.ip);
    return true;
  }
  bool on_record(const Record& record) override {
    if (const auto* comm = std::get_if<Comm>(&record.body)) comms.emplace_back(comm->name);
    return true;
  }
};

Result<std::unique_ptr<Reader>> open(std::string_view file) {
  std::vector<std::byte> bytes(file.size());
  std::memcpy(bytes.data(), file.data(), file.size());
  return Reader::open(memory_source(std::move(bytes)));
}

Taken read_all(std::string_view file, Header* header = nullptr) {
  Taken taken;
  auto reader = open(file);
  EXPECT_TRUE(reader) << to_string(reader.error());
  if (!reader) return taken;
  const Status read = (*reader)->read(taken);
  EXPECT_TRUE(read) << to_string(read.error());
  EXPECT_THAT((*reader)->diagnostics().entries(), IsEmpty());
  if (header != nullptr) *header = (*reader)->header();
  return taken;
}

TEST(Writer, AttributesMayComeLate) {
  MemoryOutput output;
  Writer writer(output);
  ASSERT_TRUE(writer.begin(one_event({7})));
  ASSERT_TRUE(writer.records(sample(7, 0x1000, 10)));
  ASSERT_TRUE(writer.add_attributes({{attr_bytes(1, 1), {9}, ""}}));
  EXPECT_FALSE(writer.add_attributes({{std::vector<std::byte>(64), {10}, ""}}));
  ASSERT_TRUE(writer.records(sample(9, 0x2000, 20)));
  ASSERT_TRUE(writer.finish());
  Header header;
  const Taken taken = read_all(output.bytes(), &header);
  EXPECT_THAT(taken.addresses, ElementsAre(0x1000, 0x2000));
  ASSERT_THAT(header.events, SizeIs(2));
  EXPECT_THAT(header.events[1].ids, ElementsAre(9));
  EXPECT_EQ(header.events[1].config, 1);
}

TEST(Writer, WhatIsWrittenIsRead) {
  MemoryOutput output;
  Writer writer(output);
  ASSERT_TRUE(writer.begin(one_event()));
  std::string records;
  const RecordBuilder builder(kSampleType, true);
  builder.comm(records, {}, {11, 12, "java", false});
  ASSERT_TRUE(writer.records(records + sample(7, 0x1000, 20) + sample(8, 0x2000, 10)));
  ASSERT_TRUE(writer.finished_round());
  ASSERT_TRUE(writer.records(sample(7, 0x3000, 30)));
  writer.set_feature(Feature::hostname, string_feature("here"));
  writer.set_feature(Feature::os_release, string_feature("6.1"));
  writer.set_feature(Feature::arch, string_feature(std::string(70, 'a')));
  const std::vector<std::string> words = {"jitscope", "record", "-a"};
  writer.set_feature(Feature::command_line, string_list_feature(words));
  writer.set_feature(Feature::sample_time, sample_time_feature(10, 30));
  writer.set_feature(Feature::clockid, clockid_feature(1));
  writer.set_feature(Feature::clock_data, clock_data_feature(1, 5'000, 77));
  const std::vector<std::byte> id(20, std::byte{0xab});
  writer.set_feature(Feature::build_id,
                     build_id_entry(-1, true, id, "[kernel.kallsyms]") +
                         build_id_entry(-1, false, std::span(id).first(16), "/usr/lib/libc.so.6"));
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(writer.file_bytes(), output.bytes().size());

  Header header;
  const Taken taken = read_all(output.bytes(), &header);
  EXPECT_THAT(taken.addresses, ElementsAre(0x2000, 0x1000, 0x3000));
  EXPECT_THAT(taken.comms, ElementsAre("java"));
  EXPECT_FALSE(header.pipe);
  ASSERT_THAT(header.events, SizeIs(1));
  EXPECT_EQ(header.events[0].name, "cpu-clock");
  EXPECT_EQ(header.events[0].sample_type, kSampleType);
  EXPECT_THAT(header.events[0].ids, ElementsAre(7, 8));
  EXPECT_EQ(header.clock(), 1);
  EXPECT_EQ(header.hostname, "here");
  EXPECT_EQ(header.os_release, "6.1");
  EXPECT_EQ(header.arch, std::string(70, 'a'));
  EXPECT_THAT(header.command_line, ElementsAre("jitscope", "record", "-a"));
  EXPECT_EQ(header.first_sample_time, 10);
  EXPECT_EQ(header.last_sample_time, 30);
  EXPECT_EQ(header.clockid_resolution, 1);
  ASSERT_TRUE(header.clock_pair);
  EXPECT_EQ(header.clock_pair->wall, 5'000);
  EXPECT_EQ(header.clock_pair->clock, 77);
  ASSERT_THAT(header.build_ids, SizeIs(2));
  EXPECT_TRUE(header.build_ids[0].kernel);
  EXPECT_EQ(header.build_ids[0].id, id);
  EXPECT_FALSE(header.build_ids[1].kernel);
  EXPECT_THAT(header.build_ids[1].id, SizeIs(16));
  EXPECT_EQ(header.build_ids[1].path, "/usr/lib/libc.so.6");
}

TEST(Writer, AKilledRecordingIsReadUpToItsLastCheckpoint) {
  MemoryOutput output;
  Writer writer(output);
  ASSERT_TRUE(writer.begin(one_event()));
  ASSERT_TRUE(writer.records(sample(7, 0x1000, 10)));
  ASSERT_TRUE(writer.checkpoint());
  const std::string at_checkpoint = output.bytes();
  ASSERT_TRUE(writer.records(sample(7, 0x2000, 20)));
  EXPECT_THAT(read_all(at_checkpoint).addresses, ElementsAre(0x1000));
  // What was written after it lies behind the end of the data.
  EXPECT_THAT(read_all(output.bytes()).addresses, ElementsAre(0x1000));
  ASSERT_TRUE(writer.checkpoint());
  EXPECT_THAT(read_all(output.bytes()).addresses, ElementsAre(0x1000, 0x2000));
}

TEST(Writer, IdsThatCameLateAreThere) {
  MemoryOutput output;
  Writer writer(output);
  std::vector<Attribute> attributes = one_event({1});
  attributes.push_back({attr_bytes(1, 9), {2}, "dummy"});
  ASSERT_TRUE(writer.begin(std::move(attributes)));
  ASSERT_TRUE(writer.records(sample(30, 0x1000, 10)));
  const std::vector<uint64_t> more = {30, 31};
  writer.add_ids(0, more);
  ASSERT_TRUE(writer.finish());
  Header header;
  EXPECT_THAT(read_all(output.bytes(), &header).addresses, ElementsAre(0x1000));
  ASSERT_THAT(header.events, SizeIs(2));
  EXPECT_THAT(header.events[0].ids, ElementsAre(1, 30, 31));
  EXPECT_THAT(header.events[1].ids, ElementsAre(2));
  EXPECT_EQ(header.events[1].name, "dummy");
}

TEST(Writer, AttributesMustBeAlike) {
  MemoryOutput output;
  EXPECT_FALSE(Writer(output).begin({}));
  std::vector<Attribute> attributes = one_event();
  attributes.push_back({std::vector<std::byte>(64), {}, ""});
  EXPECT_FALSE(Writer(output).begin(std::move(attributes)));
  std::vector<Attribute> tiny;
  tiny.push_back({std::vector<std::byte>(8), {}, ""});
  EXPECT_FALSE(Writer(output).begin(std::move(tiny)));
  EXPECT_THAT(output.bytes(), IsEmpty());
}

TEST(Writer, AnErrorOfTheOutputIsHandedOn) {
  struct Full : FileOutput {
    Status append(std::span<const std::byte> /*bytes*/) override {
      return fail(ErrorKind::not_possible, "full");
    }
    Status overwrite(uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {
      return {};
    }
  } full;
  Writer writer(full);
  EXPECT_FALSE(writer.begin(one_event()));
  EXPECT_FALSE(writer.records("12345678"));
  EXPECT_EQ(writer.data_bytes(), 0);
}

TEST(MemoryOutput, OverwritesWhatIsThereOnly) {
  MemoryOutput output;
  const std::array<std::byte, 2> two{std::byte{'a'}, std::byte{'b'}};
  ASSERT_TRUE(output.append(two));
  EXPECT_TRUE(output.overwrite(0, two));
  EXPECT_FALSE(output.overwrite(1, two));
  EXPECT_FALSE(output.overwrite(UINT64_MAX, two));
  EXPECT_EQ(output.bytes(), "ab");
}

}  // namespace
}  // namespace jitscope::perfdata
