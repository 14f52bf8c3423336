// A session that works in several threads gives what it gives in one.
#include "session/pipeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <stdexcept>

#include "session/session.h"
#include "support/perfdata_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using perfdata::RecordType;
using perfdata::test::Bytes;
using perfdata::test::PerfDataBuilder;
using perfdata::test::Stamp;

constexpr uint32_t kPid = 0x7fff0041;  // no machine gives out pids like this
constexpr uint64_t kCode = 0x7f0000000000;

// All that a consumer may ask for, as text.
class Told : public SampleConsumer {
 public:
  explicit Told(const Session& session, size_t most = SIZE_MAX) : session_(session), most_(most) {}
  bool on_sample(const ResolvedSample& sample) override {
    std::string line =
        fmt::format("{} {} {}/{} {} {} {}", sample.thread.process, sample.thread.comm,
                    sample.thread.pid, sample.thread.tid, sample.sample.head.time,
                    sample.thread.slot, session_.header().events[sample.sample.event].name);
    for (const LocationId id : sample.stack) {
      const Location location = session_.location(id);
      EXPECT_LT(id, session_.location_count());
      const Frame& frame = session_.resolver().frames()[location.frame];
      line += fmt::format("|{:x} {} {} {}", location.ip, frame.method,
                          session_.resolver().dso(location), to_string(frame.no_name));
      for (const FrameId inlined : session_.resolver().inlined(location)) {
        line += "<" + session_.resolver().frames()[inlined].method;
      }
    }
    lines.push_back(std::move(line));
    return lines.size() < most_;
  }
  std::vector<std::string> lines;

 private:
  const Session& session_;
  size_t most_;
};

void expect_same(const std::vector<std::string>& found, const std::vector<std::string>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected[i]) << i;
}

class PipelineTest : public test::ScratchFolderTest {
 protected:
  // Threads that come, go and change their names; code named by a map, unnamed and unmapped.
  std::string recording(size_t samples) {
    std::mt19937 random(11);
    std::string map;
    for (uint64_t i = 0; i < 500; ++i) map += fmt::format("{:x} 40 f{}\n", kCode + i * 0x80, i);
    map_ = write("the.map", map);
    PerfDataBuilder builder;
    builder.comm(kPid, kPid, "main", Stamp{kPid, kPid, 10, 0});
    builder.mmap2({.pid = kPid,
                   .tid = kPid,
                   .start = kCode,
                   .length = 0x20000,
                   .path = "//anon",
                   .inode = 0,
                   .stamp = {.pid = kPid, .time = 20}});
    std::vector<uint64_t> chain;
    for (uint64_t i = 0; i < samples; ++i) {
      const uint64_t time = 1000 + i * 100;
      const size_t kept = std::min<size_t>(chain.size(), random() % 20);
      const std::vector<uint64_t> root(chain.end() - static_cast<ptrdiff_t>(kept), chain.end());
      chain = {perfdata::kContextUser};
      for (size_t more = 1 + random() % 9; more > 0; --more) {
        chain.push_back(kCode + random() % 0x21000);
      }
      chain.insert(chain.end(), root.begin(), root.end());
      const uint32_t tid = kPid + static_cast<uint32_t>(random() % 5);
      if (random() % 100 == 0) {
        builder.comm(kPid, tid, "t" + std::to_string(random() % 9), Stamp{kPid, tid, time, 0});
      }
      builder.sample({.pid = kPid, .tid = tid, .time = time, .ip = chain[1], .callchain = chain});
      if (i % 300 == 0) builder.round();
      if (i % 5000 == 4999) {
        builder.record(RecordType::event_update, 0,
                       Bytes().u64(2).u64(100).text("event" + std::to_string(i)));
      }
    }
    return write("perf.data", builder.file());
  }
  Result<std::unique_ptr<Session>> open(const std::string& path, unsigned cores) {
    SessionOptions options;
    options.naming.perf_maps[kPid] = map_;
    options.cores = cores;
    return Session::open(path, options);
  }
  std::string map_;
};

TEST_F(PipelineTest, ThreadsChangeNothing) {
  const std::string path = recording(30'000);
  for (const bool by_code : {false, true}) {
    auto alone = open(path, 1);
    ASSERT_TRUE(alone);
    Told expected(**alone);
    ASSERT_TRUE(by_code ? (*alone)->run_by_code(expected) : (*alone)->run(expected));
    ASSERT_EQ(expected.lines.size(), 30'000U);
    for (const unsigned cores : {2U, 3U, 64U}) {
      auto session = open(path, cores);
      ASSERT_TRUE(session);
      Told told(**session);
      ASSERT_TRUE(by_code ? (*session)->run_by_code(told) : (*session)->run(told));
      expect_same(told.lines, expected.lines);
      EXPECT_EQ((*session)->samples(), (*alone)->samples());
      EXPECT_EQ((*session)->last_time(), (*alone)->last_time());
    }
  }
}

TEST_F(PipelineTest, LeavesAloneToo) {
  const std::string path = recording(5'000);
  SessionOptions options;
  options.leaf_only = true;
  std::vector<std::string> before;
  for (const unsigned cores : {1U, 4U}) {
    options.cores = cores;
    auto session = Session::open(path, options);
    ASSERT_TRUE(session);
    Told told(**session);
    ASSERT_TRUE((*session)->run_by_code(told));
    EXPECT_EQ(told.lines.size(), 5'000U);
    if (cores != 1) expect_same(told.lines, before);
    before = told.lines;
  }
}

TEST_F(PipelineTest, EndsWhereTheConsumerWantsNoMore) {
  const std::string path = recording(20'000);
  for (const size_t most : {1, 700, 12'345}) {
    auto session = open(path, 2);
    ASSERT_TRUE(session);
    Told told(**session, most);
    EXPECT_TRUE((*session)->run(told));
    EXPECT_EQ(told.lines.size(), most);
  }
}

// The caller gets what its consumer threw, and all threads have ended by then.
TEST_F(PipelineTest, WhatIsThrownReachesTheCaller) {
  class Throws : public SampleConsumer {
    bool on_sample(const ResolvedSample& /*sample*/) override {
      throw std::runtime_error("no more memory");
    }
  } throws;
  auto session = open(recording(5'000), 2);
  ASSERT_TRUE(session);
  EXPECT_THROW((void)(*session)->run(throws), std::runtime_error);
}

TEST(PipelineSteps, WhatIsThrownInAnyStepReachesTheCaller) {
  for (const int step : {0, 1, 2}) {
    const auto fails = [&](int at) {
      if (at == step) throw std::runtime_error("step");
      return true;
    };
    PipelineSteps steps;
    steps.read = [&](perfdata::BatchSink& sink) -> Status {
      fails(0);
      for (int i = 0; i < 1000; ++i) {
        perfdata::RecordBatch* const batch = sink.empty();
        if (batch == nullptr) break;
        sink.full(batch);
      }
      return {};
    };
    steps.resolve = [&](SampleBatch& /*batch*/) { return fails(1); };
    steps.take_in = [&](SampleBatch& /*batch*/) { return fails(2); };
    EXPECT_THROW((void)run_pipeline(steps, 2), std::runtime_error) << step;
  }
}

// And the error of the reading.
TEST(PipelineSteps, EachBatchIsTakenInOnceAndTheReadersStatusComesBack) {
  for (const unsigned cores : {1U, 2U, 8U}) {
    std::atomic<int> read = 0;
    int resolved = 0;
    int taken = 0;
    PipelineSteps steps;
    steps.read = [&](perfdata::BatchSink& sink) -> Status {
      for (; read < 5000; ++read) {
        sink.full(sink.empty());
        if (read % 1000 == 0) {
          EXPECT_TRUE(sink.settle());
        }
      }
      return fail(ErrorKind::damaged, "the disk is gone");
    };
    steps.resolve = [&](SampleBatch& /*batch*/) { return ++resolved > 0; };
    steps.take_in = [&](SampleBatch& /*batch*/) { return ++taken > 0; };
    const auto status = run_pipeline(steps, cores);
    ASSERT_TRUE(status);
    EXPECT_FALSE(*status);
    EXPECT_EQ(resolved, 5000);
    EXPECT_EQ(taken, 5000);
  }
}

}  // namespace
}  // namespace jitscope
