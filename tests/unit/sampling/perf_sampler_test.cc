// Samples this process and its children, and counts what comes.
#include "sampling/perf_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "base/byte_cursor.h"
#include "base/clock.h"
#include "perf_event/cpus.h"
#include "process/launch.h"

namespace jitscope {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kLimit = 60'000'000'000;

struct Counts {
  uint64_t records = 0;
  uint64_t samples = 0;
  uint64_t lost = 0;
  uint64_t earliest = UINT64_MAX;
  uint64_t latest = 0;
  std::set<uint32_t> sampled;  // threads
  std::set<uint32_t> forked;
  std::set<std::string> comms;
  std::set<uint64_t> ids;
};

void count(std::string_view records, Counts& counts) {
  ByteCursor cursor(records);
  while (!cursor.at_end()) {
    const uint32_t type = cursor.u32();
    (void)cursor.u16();
    const uint16_t size = cursor.u16();
    ASSERT_GE(size, 8);
    ByteCursor body = cursor.slice(size - 8U);
    ASSERT_TRUE(cursor.ok()) << "a record reaches beyond what was read";
    ++counts.records;
    if (type == PERF_RECORD_SAMPLE) {
      ++counts.samples;
      counts.ids.insert(body.u64());
      (void)body.u64();  // ip
      (void)body.u32();  // pid
      counts.sampled.insert(body.u32());
      const uint64_t time = body.u64();
      counts.earliest = std::min(counts.earliest, time);
      counts.latest = std::max(counts.latest, time);
    } else if (type == PERF_RECORD_LOST) {
      (void)body.u64();
      counts.lost += body.u64();
    } else if (type == PERF_RECORD_FORK) {
      body.skip(8);
      counts.forked.insert(body.u32());
    } else if (type == PERF_RECORD_COMM) {
      body.skip(8);
      counts.comms.emplace(body.c_string());
    }
    ASSERT_TRUE(body.ok());
  }
}

void read(PerfSampler& sampler, Counts& counts) {
  ASSERT_TRUE(sampler.read([&](std::string_view records) -> Status {
    count(records, counts);
    return {};
  }));
}

// nullptr, and the test is to be skipped, where sampling is not permitted.
std::unique_ptr<PerfSampler> open(const SampleTarget& target, const SamplerOptions& options) {
  auto sampler = PerfSampler::open(target, options);
  if (sampler) return std::move(*sampler);
  EXPECT_EQ(sampler.error().kind, ErrorKind::not_permitted) << to_string(sampler.error());
  return nullptr;
}

SampleTarget self() {
  SampleTarget target;
  target.processes = {::getpid()};
  return target;
}

void burn(uint64_t nanoseconds) {
  const uint64_t end = monotonic_ns() + nanoseconds;
  while (monotonic_ns() < end) {
  }
}

TEST(PerfSampler, SamplesThisProcessAndThreadsThatComeLater) {
  SamplerOptions options;
  options.frequency = 2000;
  const uint64_t begin = monotonic_ns();
  const auto sampler = open(self(), options);
  if (!sampler) GTEST_SKIP() << "sampling is not permitted";
  EXPECT_THAT(sampler->threads(), Contains(::getpid()));
  EXPECT_EQ(sampler->attribute().size(), sizeof(perf_event_attr));
  EXPECT_EQ(sampler->sample_type() & PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_CALLCHAIN);
  EXPECT_TRUE(sampler->name().starts_with("cycles") || sampler->name().starts_with("cpu-clock"));
  EXPECT_EQ(sampler->reason().empty(), sampler->name().starts_with("cycles"));
  const auto ids = sampler->take_new_ids();
  EXPECT_THAT(ids, SizeIs(Ge(1U)));
  EXPECT_THAT(sampler->take_new_ids(), IsEmpty());

  std::atomic<bool> end = false;
  std::atomic<pid_t> tid = 0;
  std::thread other([&] {
    tid = ::gettid();
    while (!end) burn(1'000'000);
  });
  Counts counts;
  const auto enough = [&] {
    return counts.sampled.contains(static_cast<uint32_t>(tid)) &&
           counts.sampled.contains(static_cast<uint32_t>(::getpid()));
  };
  while (!enough() && monotonic_ns() - begin < kLimit) {
    burn(5'000'000);
    read(*sampler, counts);
  }
  end = true;
  other.join();
  sampler->stop();
  read(*sampler, counts);
  EXPECT_TRUE(enough());
  EXPECT_THAT(counts.forked, Contains(static_cast<uint32_t>(tid)));
  EXPECT_GE(counts.earliest, begin);
  EXPECT_LE(counts.latest, monotonic_ns());
  for (const uint64_t id : counts.ids) EXPECT_THAT(ids, Contains(id));
  EXPECT_EQ(counts.lost, 0);
  EXPECT_EQ(sampler->lost().value_or(0), 0);

  // Stopped is stopped.
  Counts after;
  burn(20'000'000);
  read(*sampler, after);
  EXPECT_EQ(after.samples, 0);
}

TEST(PerfSampler, ASmallRingWrapsAndLosesNothingWhenItIsRead) {
  SamplerOptions options;
  options.frequency = 5000;
  options.ring_bytes = 64U << 10U;
  const auto sampler = open(self(), options);
  if (!sampler) GTEST_SKIP() << "sampling is not permitted";
  Counts counts;
  uint64_t bytes = 0;
  const uint64_t begin = monotonic_ns();
  while (bytes < 3 * options.ring_bytes && monotonic_ns() - begin < kLimit) {
    burn(2'000'000);
    ASSERT_TRUE(sampler->read([&](std::string_view records) -> Status {
      bytes += records.size();
      count(records, counts);
      return {};
    }));
  }
  EXPECT_GE(bytes, 3 * options.ring_bytes);
  EXPECT_EQ(counts.lost, 0);
}

TEST(PerfSampler, WhatFindsNoRoomIsCounted) {
  SamplerOptions options;
  options.frequency = 5000;
  options.ring_bytes = 64U << 10U;
  const auto sampler = open(self(), options);
  if (!sampler) GTEST_SKIP() << "sampling is not permitted";
  if (!sampler->lost()) GTEST_SKIP() << "this kernel does not count lost records";
  const uint64_t begin = monotonic_ns();
  while (*sampler->lost() == 0 && monotonic_ns() - begin < kLimit) burn(5'000'000);
  EXPECT_GT(*sampler->lost(), 0U);
  // The kernel says so in the stream, too, with the next record that finds room.
  Counts counts;
  while (counts.lost == 0 && monotonic_ns() - begin < kLimit) {
    read(*sampler, counts);
    burn(2'000'000);
  }
  sampler->stop();
  read(*sampler, counts);
  EXPECT_GT(counts.lost, 0U);
  EXPECT_LE(counts.lost, *sampler->lost());
}

TEST(PerfSampler, ACommandFromItsFirstInstruction) {
  auto command = Launched::start({"sh", "-c", "exec sleep 0"});
  ASSERT_TRUE(command);
  EXPECT_FALSE(command->ended());
  SampleTarget target;
  target.command = command->pid();
  SamplerOptions options;
  options.event = SampleEvent::cpu_clock;
  options.stacks = false;
  const auto sampler = open(target, options);
  if (!sampler) GTEST_SKIP() << "sampling is not permitted";
  EXPECT_THAT(sampler->reason(), IsEmpty());
  ASSERT_TRUE(command->run());
  const uint64_t begin = monotonic_ns();
  std::optional<int> status;
  while (!(status = command->ended()) && monotonic_ns() - begin < kLimit) {
    sampler->wait(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, 0);
  Counts counts;
  read(*sampler, counts);
  EXPECT_THAT(counts.comms, ElementsAre("sh", "sleep"));
}

TEST(PerfSampler, AThreadThatHasEndedIsNoError) {
  const auto sampler = open(self(), {});
  if (!sampler) GTEST_SKIP() << "sampling is not permitted";
  (void)sampler->take_new_ids();
  EXPECT_TRUE(sampler->add_thread(0x7ffffffe));
  EXPECT_THAT(sampler->take_new_ids(), IsEmpty());
}

TEST(PerfSampler, WaitsNoLongerThanItIsTold) {
  const auto sampler = open(self(), {});
  if (!sampler) GTEST_SKIP() << "sampling is not permitted";
  const uint64_t begin = monotonic_ns();
  sampler->wait(std::chrono::milliseconds(1));
  EXPECT_LT(monotonic_ns() - begin, kLimit);
}

TEST(Launched, ACommandThatIsNotThere) {
  auto command = Launched::start({"/nonexistent/program", "x"});
  ASSERT_TRUE(command);
  const Status run = command->run();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::usage);
  EXPECT_EQ(run.error().where, "/nonexistent/program");
  EXPECT_FALSE(command->running());
  EXPECT_FALSE(Launched::start({}));
}

TEST(Launched, WhatIsNotRunEnds) {
  pid_t pid = 0;
  {
    auto command = Launched::start({"true"});
    ASSERT_TRUE(command);
    pid = command->pid();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 127);
}

TEST(Cpus, Lists) {
  EXPECT_THAT(*parse_cpu_list("0\n"), ElementsAre(0));
  EXPECT_THAT(*parse_cpu_list("0-2,5,7-8\n"), ElementsAre(0, 1, 2, 5, 7, 8));
  EXPECT_THAT(*parse_cpu_list(""), IsEmpty());
  for (const std::string_view bad : {"a", "3-1", "0-99999999", "1-", "-1"}) {
    EXPECT_FALSE(parse_cpu_list(bad)) << bad;
  }
  const auto online = list_online_cpus();
  ASSERT_TRUE(online);
  EXPECT_GE(count_possible_cpus(), online->size());
}

}  // namespace
}  // namespace jitscope
