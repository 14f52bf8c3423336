// Which samples filters take: by lists as users write them, and in a session, where the records
// that tell of threads and code are taken in all the same.
#include "session/sample_filter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/session.h"
#include "support/perfdata_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using perfdata::kContextUser;
using perfdata::test::EventSpec;
using perfdata::test::PerfDataBuilder;
using perfdata::test::Stamp;
using ::testing::ElementsAre;

constexpr uint32_t kPid = 0x7fff0051;  // no machine gives out pids like these
constexpr uint32_t kOther = 0x7fff0052;

std::vector<NumberRange> numbers(std::string_view text) {
  auto parsed = parse_number_list("--cpu", text, true);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : std::vector<NumberRange>();
}

TEST(FilterWords, NamesHaveCommasBetweenThem) {
  EXPECT_THAT(*parse_name_list("--comm", "java"), ElementsAre("java"));
  EXPECT_THAT(*parse_name_list("--comm", "a b,:17,c"), ElementsAre("a b", ":17", "c"));
  EXPECT_THAT(*parse_name_list("--comm", R"(work\, er,b\c,\)"),
              ElementsAre("work, er", R"(b\c)", R"(\)"));
  for (const char* text : {"", ",", "a,", ",a", "a,,b"}) {
    const auto parsed = parse_name_list("--comm", text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
  }
}

TEST(FilterWords, NumbersMayBeRanges) {
  EXPECT_THAT(numbers("0-3,5"), ElementsAre(NumberRange{0, 3}, NumberRange{5, 5}));
  EXPECT_THAT(numbers("7-7"), ElementsAre(NumberRange{7, 7}));
  EXPECT_FALSE(parse_number_list("--pid", "0-3", false));
  for (const char* text : {"", ",", "1,", "x", "-1", "3-1", "0-", "-", "1-2-3", "1 ", "0x1",
                           "4294967295", "0-4294967295", "18446744073709551616"}) {
    EXPECT_FALSE(parse_number_list("--cpu", text, true)) << text;
  }
}

TEST(FilterWords, RangesAreFoundWhateverTheirOrder) {
  auto ranges = numbers("9,0-3,2-5,4294967294,6,100-200,150");
  settle_ranges(ranges);
  EXPECT_THAT(ranges, ElementsAre(NumberRange{0, 6}, NumberRange{9, 9}, NumberRange{100, 200},
                                  NumberRange{4294967294, 4294967294}));
  for (const uint32_t in : {0U, 6U, 9U, 100U, 150U, 200U, 4294967294U}) {
    EXPECT_TRUE(holds(ranges, in)) << in;
  }
  for (const uint32_t out : {7U, 8U, 10U, 99U, 201U, UINT32_MAX}) {
    EXPECT_FALSE(holds(ranges, out)) << out;
  }
  EXPECT_FALSE(holds({}, 0));
}

TEST(DsoNames, AreFileNamesOrPaths) {
  const DsoNames names({"libc.so.6", "/opt/a/b.so", "[kernel.kallsyms]"});
  for (const char* dso : {"libc.so.6", "/usr/lib/libc.so.6", "/opt/a/b.so", "[kernel.kallsyms]"}) {
    EXPECT_TRUE(names.holds(dso)) << dso;
  }
  for (const char* dso : {"libc.so", "/libc.so.6/x", "b.so", "/x/opt/a/b.so", ""}) {
    EXPECT_FALSE(names.holds(dso)) << dso;
  }
  EXPECT_TRUE(DsoNames({"[unknown]"}).holds(""));
}

perfdata::Sample sample_of(uint32_t pid, uint32_t tid, uint64_t time, uint32_t cpu,
                           uint64_t period) {
  perfdata::Sample sample;
  sample.head.pid = pid;
  sample.head.tid = tid;
  sample.head.time = time;
  sample.head.cpu = cpu;
  sample.period = period;
  return sample;
}

TEST(SampleFilter, EveryListMustTakeASample) {
  FilterOptions options;
  options.comms = {"b", "a", ":12"};
  options.pids = numbers("10,11");
  options.cpus = numbers("0-1");
  SampleFilter filter(options);
  EXPECT_TRUE(filter.takes(sample_of(10, 10, 5, 0, 3), "a"));
  EXPECT_TRUE(filter.takes(sample_of(11, 12, 5, 1, 3), ""));
  EXPECT_EQ(filter.left_out(), 0u);
  EXPECT_FALSE(filter.takes(sample_of(10, 10, 5, 0, 3), "c"));
  EXPECT_FALSE(filter.takes(sample_of(9, 10, 5, 0, 0), "a"));
  EXPECT_EQ(filter.left_out_by_thread(0).samples, 2u);
  EXPECT_EQ(filter.left_out_by_thread(0).periods, 3u);
  EXPECT_EQ(filter.left_out_by_thread(0).without_period, 1u);
  // By CPU: as if it had not been recorded.
  EXPECT_FALSE(filter.takes(sample_of(10, 10, 5, 2, 3), "a"));
  EXPECT_FALSE(filter.takes(sample_of(10, 10, 5, UINT32_MAX, 3), "a"));
  EXPECT_EQ(filter.left_out(), 4u);
  EXPECT_EQ(filter.left_out_by_thread(0).samples, 2u);
  EXPECT_EQ(filter.left_out_by_thread(UINT32_MAX).samples, 0u);
}

TEST(SampleFilter, AnEventThatNobodyKnowsIsCountedInTheWhole) {
  FilterOptions options;
  options.tids = numbers("1");
  SampleFilter filter(options);
  perfdata::Sample sample = sample_of(1, 2, 0, 0, 1);
  sample.event = UINT32_MAX;
  EXPECT_FALSE(filter.takes(sample, "a"));
  EXPECT_EQ(filter.left_out(), 1u);
}

class Taken : public SampleConsumer {
 public:
  explicit Taken(const Session& session) : session_(session) {}
  bool on_sample(const ResolvedSample& sample) override {
    std::string text = std::to_string(sample.sample.head.time) + " " + sample.thread.comm;
    text += " " + std::to_string(sample.shared);
    for (const LocationId id : sample.stack) text += fmt::format(" {:x}", session_.location(id).ip);
    taken.push_back(text);
    return true;
  }
  std::vector<std::string> taken;

 private:
  const Session& session_;
};

class FilteredSession : public test::ScratchFolderTest {
 protected:
  std::vector<std::string> taken(const PerfDataBuilder& builder, const FilterOptions& filter) {
    SessionOptions options;
    options.filter = filter;
    const auto session = Session::open(write("perf.data", builder.file()), options);
    EXPECT_TRUE(session) << to_string(session.error());
    if (!session) return {};
    Taken consumer(**session);
    EXPECT_TRUE((*session)->run(consumer));
    left_out_ = (*session)->left_out();
    EXPECT_EQ((*session)->samples(), consumer.taken.size());
    return consumer.taken;
  }
  Error refused(const PerfDataBuilder& builder, std::string_view time, std::string_view cpus) {
    SessionOptions options;
    if (!time.empty()) options.filter.times = *TimeWindows::parse(time);
    if (!cpus.empty()) options.filter.cpus = numbers(cpus);
    const auto session = Session::open(write("perf.data", builder.file()), options);
    EXPECT_FALSE(session);
    return session ? Error() : session.error();
  }
  static PerfDataBuilder two_processes() {
    PerfDataBuilder builder;
    builder.comm(kPid, kPid, "before", Stamp{kPid, kPid, 10, 0});
    const auto map = [&](uint64_t start, std::string path) {
      builder.mmap2({.pid = kPid,
                     .tid = kPid,
                     .start = start,
                     .length = 0x1000,
                     .path = std::move(path),
                     .stamp = {.pid = kPid, .time = 12}});
    };
    map(0x1000, "/none/one.so");
    map(0x3000, "/none/two.so");
    builder.fork(kOther, kPid, Stamp{kPid, kPid, 13, 0});
    stack(builder, kPid, 20, {0x1010, 0x1800});
    stack(builder, kPid, 21, {0x3010, 0x1900});  // shares nothing
    stack(builder, kPid, 22, {0x1020, 0x1900});
    builder.comm(kPid, kPid, "after", Stamp{kPid, kPid, 30, 0}, true);
    map(0x1000, "/none/one.so");
    stack(builder, kPid, 40, {0x1010, 0x1800});
    stack(builder, kOther, 41, {0x1010, 0x1800});
    return builder;
  }
  static void stack(PerfDataBuilder& builder, uint32_t pid, uint64_t time,
                    std::vector<uint64_t> addresses) {
    const uint64_t ip = addresses.front();
    addresses.insert(addresses.begin(), kContextUser);
    builder.sample({.pid = pid,
                    .tid = pid,
                    .time = time,
                    .cpu = static_cast<uint32_t>(time % 2),
                    .ip = ip,
                    .callchain = std::move(addresses)});
  }
  uint64_t left_out_ = 0;
};

TEST_F(FilteredSession, CommIsTheThreadsNameAtThatTime) {
  FilterOptions filter;
  filter.comms = {"after"};
  EXPECT_THAT(taken(two_processes(), filter), ElementsAre("40 after 0 1800 1010"));
  EXPECT_EQ(left_out_, 4u);
  filter.comms = {"before"};
  EXPECT_EQ(taken(two_processes(), filter).size(), 4u);  // the child has its parent's
}

TEST_F(FilteredSession, OtherFilters) {
  FilterOptions filter;
  filter.pids = {{kOther, kOther}};
  EXPECT_THAT(taken(two_processes(), filter), ElementsAre("41 before 0 1800 1010"));
  filter = {};
  filter.cpus = {{1, 1}};
  EXPECT_EQ(taken(two_processes(), filter).size(), 2u);
  filter = {};
  filter.times = *TimeWindows::parse("0.000000021,.00000004");
  EXPECT_EQ(taken(two_processes(), filter).size(), 3u);
  filter.tids = {{1, 1}};
  EXPECT_TRUE(taken(two_processes(), filter).empty());
  EXPECT_EQ(left_out_, 5u);
}

// What a stack shares is with the last one that was passed on.
TEST_F(FilteredSession, LeavesByLibrary) {
  FilterOptions filter;
  EXPECT_THAT(taken(two_processes(), filter),
              ElementsAre("20 before 0 1800 1010", "21 before 0 1900 3010", "22 before 1 1900 1020",
                          "40 after 0 1800 1010", "41 before 0 1800 1010"));
  filter.leaf_dsos = DsoNames({"one.so"});
  EXPECT_THAT(taken(two_processes(), filter),
              ElementsAre("20 before 0 1800 1010", "22 before 0 1900 1020", "40 after 0 1800 1010",
                          "41 before 0 1800 1010"));
  EXPECT_EQ(left_out_, 1u);
  filter.leaf_dsos = DsoNames({"/none/two.so"});
  EXPECT_THAT(taken(two_processes(), filter), ElementsAre("21 before 0 1900 3010"));
}

TEST_F(FilteredSession, WhatTheRecordingLacksIsSaid) {
  using namespace perfdata::sample_bit;
  EventSpec bare;
  bare.sample_type = kIdentifier | kIp | kTid;
  EXPECT_EQ(refused(PerfDataBuilder{bare}, "", "0").kind, ErrorKind::not_possible);
  EXPECT_EQ(refused(PerfDataBuilder{bare}, "1,2", "").kind, ErrorKind::not_possible);
  const Error error = refused(two_processes(), "10%-20%", "");  // no SAMPLE_TIME
  EXPECT_EQ(error.kind, ErrorKind::not_possible);
  EXPECT_THAT(error.hint, ::testing::HasSubstr("FROM,TO"));
}

}  // namespace
}  // namespace jitscope
