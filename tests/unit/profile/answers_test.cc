// What a session keeps about addresses, spans of code and stacks must not change any answer: each
// frame is asked for anew and compared.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "base/large_pages.h"
#include "formats/jitdump/jitdump.h"
#include "profile/collector.h"
#include "profile/frame_counter.h"
#include "session/session.h"
#include "support/perfdata_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using perfdata::kContextKernel;
using perfdata::kContextMax;
using perfdata::kContextUser;
using perfdata::test::PerfDataBuilder;
using perfdata::test::Stamp;

// No machine gives out pids like these.
constexpr uint32_t kPid = 0x7fff0011;
constexpr uint32_t kChild = 0x7fff0012;
constexpr uint64_t kCode = 0x7f0000000000;
constexpr uint64_t kMapped = 0x7f1000000000;
constexpr uint64_t kMilli = 1'000'000;

class Compare : public SampleConsumer {
 public:
  Compare(Session& session, bool addresses) : session_(session), addresses_(addresses) {}
  bool on_sample(const ResolvedSample& resolved) override {
    const perfdata::Sample& sample = resolved.sample;
    ProcessLife& life = *session_.processes().thread(sample.head.pid, sample.head.tid).process;
    std::vector<Location> expected;
    AddressQuery query;
    query.time = sample.head.time;
    bool exact = true;
    for (const uint64_t value : sample.callchain) {
      if (value >= kContextMax) {
        query.mode = value == kContextKernel ? perfdata::CpuMode::kernel : perfdata::CpuMode::user;
        exact = true;
        continue;
      }
      query.ip = value;
      query.caller = !exact;
      exact = false;
      const Resolution answer = session_.resolver().resolve(life, query);
      expected.insert(expected.begin(), answer.location);
      named += answer.named ? 1 : 0;
    }
    EXPECT_EQ(resolved.stack.size(), expected.size());
    for (size_t i = 0; i < expected.size() && i < resolved.stack.size(); ++i) {
      const Location found = session_.location(resolved.stack[i]);
      ++frames;
      if (addresses_) {
        EXPECT_EQ(found, expected[i]) << "sample " << samples << ", frame " << i;
      } else {
        EXPECT_EQ(found.frame, expected[i].frame) << "sample " << samples << ", frame " << i;
        EXPECT_EQ(found.dso, expected[i].dso);
      }
    }
    ++samples;
    return !::testing::Test::HasFailure();
  }
  uint64_t samples = 0;
  uint64_t frames = 0;
  uint64_t named = 0;

 private:
  Session& session_;
  bool addresses_;
};

class AnswersTest : public test::ScratchFolderTest {
 protected:
  // Bodies of all sizes that replace each other all the time.
  std::string churn(std::mt19937& random) {
    jitdump::Writer writer(kPid);
    std::string bytes;
    writer.header(bytes, 0);
    for (uint32_t i = 0; i < 300; ++i) {
      const std::vector<std::byte> code(1 + random() % (i % 10 == 0 ? 9000 : 700));
      const std::string name = "body" + std::to_string(i % 90);
      jitdump::Load load;
      load.time = load.since = (100 + i) * kMilli;
      load.pid = load.tid = kPid;
      load.address = kCode + random() % 0xa000;
      load.size = code.size();
      load.name = name;
      load.code = code;
      writer.load(bytes, load);
    }
    return bytes;
  }

  // Two processes with code from a dump, from a map and from nowhere, and rounds that make some
  // samples come late.
  std::string recording() {
    std::mt19937 random(7);
    const std::string dump = write("jit.dump", churn(random));
    PerfDataBuilder builder;
    builder.comm(kPid, kPid, "jit", Stamp{kPid, kPid, 10, 0});
    const auto map = [&](uint32_t pid, uint64_t start, uint64_t length, const std::string& path,
                         uint64_t time) {
      builder.mmap2({.pid = pid,
                     .tid = pid,
                     .start = start,
                     .length = length,
                     .path = path,
                     .inode = 0,
                     .stamp = {.pid = pid, .time = time}});
    };
    map(kPid, kCode, 0x10000, "//anon", 20);
    map(kPid, kMapped, 0x10000, "//anon", 20);
    map(kPid, 0x1000, 0x1000, dump, 30);
    builder.fork(kChild, kPid, Stamp{kPid, kPid, 150 * kMilli, 0});
    std::vector<uint64_t> chain;
    for (uint64_t i = 0; i < 1500; ++i) {
      const uint64_t time = 90 * kMilli + i * kMilli / 4;
      const size_t kept = std::min<size_t>(chain.size(), random() % 12);
      const std::vector<uint64_t> root(chain.end() - static_cast<ptrdiff_t>(kept), chain.end());
      chain = {};
      if (random() % 4 == 0) chain = {kContextKernel, 0xffffffff81000000 + random() % 64};
      chain.push_back(kContextUser);
      for (size_t more = 1 + random() % 9; more > 0; --more) {
        const bool mapped = random() % 3 == 0;
        chain.push_back((mapped ? kMapped : kCode) + random() % 0x11000);
      }
      if (random() % 9 == 0) chain.push_back(random() % 0x20000000);
      chain.insert(chain.end(), root.begin(), root.end());
      const uint32_t pid = i > 300 && random() % 3 == 0 ? kChild : kPid;
      const uint64_t late = random() % 10 == 0 ? random() % (20 * kMilli) : 0;
      builder.sample({.pid = pid,
                      .tid = pid + static_cast<uint32_t>(random() % 2),
                      .time = time - late,
                      .ip = chain[1],
                      .callchain = chain});
      if (i % 40 == 0) builder.round();
      if (i == 700) map(kPid, kCode + 0x8000, 0x1000, "//anon", time);
      if (i == 900) map(kChild, kMapped + 0x1000, 0x3000, "/no/such/file.so", time);
      if (i == 1100) map(kPid, kMapped + 0x10000, 0x1000, "//anon", time);
    }
    const std::vector<std::byte> bytes = builder.file();
    return write("perf.data", bytes);
  }
  SessionOptions options() {
    // Lines that overlap, and gaps.
    std::mt19937 random(8);
    std::string map;
    for (int i = 0; i < 200; ++i) {
      map += fmt::format("{:x} {:x} mapped{}\n", kMapped + random() % 0xf000, 1 + random() % 400,
                         i % 70);
    }
    SessionOptions result;
    result.naming.perf_maps[kPid] = write("the.map", map);
    result.naming.perf_maps[kChild] = result.naming.perf_maps[kPid];
    return result;
  }
};

TEST_F(AnswersTest, WhatIsKeptIsWhatWouldBeAnswered) {
  const std::string path = recording();
  for (const bool addresses : {true, false}) {
    auto session = Session::open(path, options());
    ASSERT_TRUE(session);
    Compare compare(**session, addresses);
    ASSERT_TRUE(addresses ? (*session)->run(compare) : (*session)->run_by_code(compare));
    EXPECT_EQ(compare.samples, 1500U);
    EXPECT_GT(compare.frames, 10'000U);
    EXPECT_GT(compare.named, compare.frames / 4);
  }
}

// Stacks in a tree, one by one and with nothing shared.
class Reference : public SampleConsumer {
 public:
  explicit Reference(Session& session) : session_(session) {}
  bool on_sample(const ResolvedSample& sample) override {
    std::vector<FrameId> frames;
    for (const LocationId id : sample.stack) frames.push_back(session_.location(id).frame);
    ++stacks[{sample.thread.pid, sample.thread.tid, frames}];
    ++samples;
    for (const FrameId frame : std::set<FrameId>(frames.begin(), frames.end())) {
      totals[frame] += weight(sample.sample);
    }
    return true;
  }
  static uint64_t weight(const perfdata::Sample& sample) { return sample.period; }
  using Key = std::tuple<uint32_t, uint32_t, std::vector<FrameId>>;
  std::map<Key, uint64_t> stacks;
  std::map<FrameId, uint64_t> totals;
  uint64_t samples = 0;

 private:
  Session& session_;
};

TEST_F(AnswersTest, CollectorAndCounterCountEverySample) {
  const std::string path = recording();
  auto first = Session::open(path, options());
  ASSERT_TRUE(first);
  Reference reference(**first);
  ASSERT_TRUE((*first)->run_by_code(reference));

  auto second = Session::open(path, options());
  ASSERT_TRUE(second);
  Collector collector(**second, {});
  ASSERT_TRUE((*second)->run_by_code(collector));
  const Profile profile = collector.take();
  std::map<Reference::Key, uint64_t> found;
  for (const StackWeight& each : profile.stacks) {
    std::vector<FrameId> frames = profile.frames_of(each.stack);
    std::ranges::reverse(frames);
    const Group& group = profile.groups[each.group];
    found[{group.pid, group.tid, frames}] += each.samples;
  }
  EXPECT_EQ(found, reference.stacks);

  auto third = Session::open(path, options());
  ASSERT_TRUE(third);
  FrameCounter counter(**third, 0, [](FrameId id, const Frame& /*frame*/) { return id; });
  ASSERT_TRUE((*third)->run_by_code(counter));
  std::map<FrameId, uint64_t> totals;
  const std::vector<FrameCount> rows = counter.rows();
  for (FrameId id = 0; id < rows.size(); ++id) {
    if (rows[id].total_weight != 0) totals[id] = rows[id].total_weight;
  }
  EXPECT_EQ(totals, reference.totals);
  EXPECT_EQ(counter.samples(), reference.samples);
}

TEST(StackTree, AddsBelowANodeAndTellsThePath) {
  StackTree tree;
  std::mt19937 random(3);
  std::map<std::vector<FrameId>, StackId> known;
  std::vector<FrameId> stack;
  std::vector<StackId> path;
  for (int i = 0; i < 3000; ++i) {
    const size_t kept = std::min<size_t>(stack.size(), random() % 8);
    stack.resize(kept);
    path.resize(kept);
    for (size_t more = random() % 6; more > 0; --more) {
      stack.push_back(static_cast<FrameId>(random() % 20));
    }
    path.resize(stack.size());
    std::vector<StackTree::Walk> walks(1 + random() % 40);
    for (StackTree::Walk& walk : walks) walk.frames = stack;
    walks[0].frames = std::span(stack).subspan(kept);
    walks[0].start = kept == 0 ? kRootStack : path[kept - 1];
    walks[0].path = path.data() + kept;
    tree.add(walks);
    for (const StackTree::Walk& walk : walks) {
      ASSERT_EQ(walk.node, known.try_emplace(stack, walk.node).first->second);
    }
    ASSERT_EQ(path.empty() ? kRootStack : path.back(), walks[0].node);
  }
  const std::vector<StackNode> nodes = tree.take();
  for (const auto& [frames, node] : known) {
    StackId at = node;
    for (size_t i = frames.size(); i-- > 0; at = nodes[at].parent) {
      ASSERT_EQ(nodes[at].frame, frames[i]);
    }
    ASSERT_EQ(at, kRootStack);
  }
}

TEST(LargeVector, KeepsWhatItHoldsAsItGrows) {
  LargeVector<uint64_t> numbers;
  for (uint64_t i = 0; i < 1'500'000; ++i) numbers.push_back(i * 3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers.data()) % (2U << 20U), 0U);
  for (uint64_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], i * 3);
  LargeVector<uint64_t> other(numbers);
  numbers = LargeVector<uint64_t>();
  EXPECT_EQ(other.size(), 1'500'000U);
  EXPECT_EQ(other.back(), 1'499'999U * 3);
}

}  // namespace
}  // namespace jitscope
