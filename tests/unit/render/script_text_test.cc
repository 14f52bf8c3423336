// ScriptText copies what it wrote before; here each line is made anew and compared. And what
// readers of the text make of each kind of event.
#include "render/script_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <utility>

#include "support/perfdata_builder.h"
#include "support/scratch_folder.h"
#include "support/tracing_data.h"

namespace jitscope {
namespace {

using perfdata::kContextUser;
using perfdata::test::PerfDataBuilder;
using perfdata::test::Stamp;

constexpr uint32_t kPid = 0x7fff0021;
constexpr uint64_t kCode = 0x7f0000000000;

class Both : public SampleConsumer {
 public:
  explicit Both(Session& session)
      : session_(session),
        text_(session, session.resolver().frames(), {}, [this](std::string_view piece) {
          written += piece;
          ++pieces;
          return true;
        }) {}
  bool on_sample(const ResolvedSample& sample) override {
    const auto& head = sample.sample.head;
    expected += fmt::format("{} {:5} [{:03}] {:5}.{:06}: {:10} {}: ", sample.thread.comm, head.tid,
                            head.cpu, head.time / 1'000'000'000, head.time % 1'000'000'000 / 1000,
                            sample.sample.period, session_.header().events[0].name);
    expected += '\n';
    for (size_t i = sample.stack.size(); i-- > 0;) {
      const Location location = session_.location(sample.stack[i]);
      const Frame& frame = session_.resolver().frames()[location.frame];
      expected += fmt::format("\t{:16x} ", location.shown_ip);
      expected += frame.method.empty()
                      ? "[unknown]"
                      : fmt::format("{}+0x{:x}", frame.raw, location.symbol_offset);
      expected += fmt::format(" ({})\n", session_.resolver().dso(location));
    }
    expected += '\n';
    return text_.append(sample);
  }
  void finish() { text_.flush(); }
  std::string expected;
  std::string written;
  size_t pieces = 0;

 private:
  Session& session_;
  ScriptText text_;
};

TEST(ScriptText, IsTheSameAsLineByLine) {
  std::string pattern = ::testing::TempDir() + "script_XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path folder = pattern;
  std::mt19937 random(5);
  {
    std::ofstream map(folder / "the.map");
    for (uint64_t i = 0; i < 200; ++i) {
      // Some names fit into no line, and some just so.
      const size_t length = i % 50 == 0 ? 20'000 : 1 + random() % 110;
      map << fmt::format("{:x} 40 {}\n", kCode + i * 0x50,
                         std::string(length, static_cast<char>('a' + i % 26)));
    }
  }
  PerfDataBuilder builder;
  builder.comm(kPid, kPid, "jit", Stamp{kPid, kPid, 10, 0});
  builder.mmap2({.pid = kPid,
                 .tid = kPid,
                 .start = kCode,
                 .length = 0x10000,
                 .path = "//anon",
                 .inode = 0,
                 .stamp = {.pid = kPid, .time = 20}});
  std::vector<std::vector<uint64_t>> roots(5);
  for (uint64_t i = 0; i < 4000; ++i) {
    // Threads that come back after a long time find their text overwritten.
    const size_t thread = i < 3000 ? random() % 4 : random() % 5;
    std::vector<uint64_t>& root = roots[thread];
    root.resize(std::min<size_t>(root.size(), random() % 24));
    for (size_t more = random() % 12; more > 0; --more) {
      const bool rare = random() % 100 != 0;
      root.push_back(kCode + (random() % 200 / (rare ? 1 : 50) * (rare ? 1 : 50)) * 0x50 +
                     random() % 0x48);
    }
    std::vector<uint64_t> chain(root.rbegin(), root.rend());
    chain.insert(chain.begin(), kContextUser);
    builder.sample({.pid = kPid,
                    .tid = kPid + static_cast<uint32_t>(thread),
                    .time = 1000 * (i + 1),
                    .ip = chain.back(),
                    .callchain = chain});
  }
  const std::vector<std::byte> bytes = builder.file();
  std::ofstream(folder / "perf.data", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  SessionOptions options;
  options.naming.perf_maps[kPid] = folder / "the.map";
  auto session = Session::open(folder / "perf.data", options);
  ASSERT_TRUE(session);
  Both both(**session);
  ASSERT_TRUE((*session)->run(both));
  both.finish();
  EXPECT_GT(both.pieces, 10U);
  ASSERT_EQ(both.written.size(), both.expected.size());
  EXPECT_TRUE(both.written == both.expected);
  std::filesystem::remove_all(folder);
}

class Printer : public SampleConsumer {
 public:
  explicit Printer(Session& session)
      : text_(session, session.resolver().frames(), {}, [this](std::string_view piece) {
          written += piece;
          return true;
        }) {}
  bool on_sample(const ResolvedSample& sample) override {
    weight += sample.sample.period;
    return text_.append(sample);
  }
  void finish() { text_.flush(); }
  std::string written;
  uint64_t weight = 0;

 private:
  ScriptText text_;
};

struct Collapsed {
  uint64_t samples = 0;
  uint64_t weight = 0;
  uint64_t frames = 0;
};

// By the rule of stackcollapse-perf.pl: a line that begins with a word is a head, the lines below
// are frames, an empty line ends the sample.
Collapsed collapse(const std::string& text) {
  std::istringstream lines(text);
  Collapsed sum;
  uint64_t weight = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      sum.samples += weight == 0 ? 0 : 1;
      sum.weight += std::exchange(weight, 0);
    } else if (line.front() == '\t') {
      sum.frames += weight == 0 ? 0 : 1;
    } else if (line.front() != ' ' && line.front() != '#' && line.ends_with(": ")) {
      const size_t event = line.rfind(' ', line.size() - 2);
      weight = std::stoull(line.substr(line.rfind(": ", event) + 2));
    }
  }
  return sum;
}

// The samples of 80 rounds of the event: in user code with a chain and without, in the kernel.
Printer printed(const std::string& path, const perfdata::test::EventSpec& event) {
  PerfDataBuilder builder{event};
  builder.comm(kPid, kPid, " #odd", Stamp{kPid, kPid, 10, 0});
  for (uint64_t i = 0; i < 80; ++i) {
    const std::vector<std::vector<uint64_t>> chains = {
        {}, {kContextUser, kCode + i, kCode + 0x100}, {kContextUser}};
    builder.sample({.pid = kPid,
                    .tid = kPid,
                    .time = 1000 * (i + 1),
                    .ip = kCode + i,
                    .period = 1 + i,
                    .callchain = chains[i % chains.size()],
                    .branches = i % 5,
                    .user_regs = std::vector<uint64_t>(2, kCode),
                    .user_stack = std::string(64, 's')});
  }
  const std::vector<std::byte> bytes = builder.file();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  auto session = Session::open(path, {});
  EXPECT_TRUE(session);
  Printer printer(**session);
  EXPECT_TRUE((*session)->run(printer));
  printer.finish();
  return printer;
}

class ScriptTextOfEvents : public test::ScratchFolderTest {};

TEST_F(ScriptTextOfEvents, LosesNoSampleOfAnyKind) {
  namespace bit = perfdata::sample_bit;
  using perfdata::test::EventSpec;
  using perfdata::test::kUsualSample;
  const std::vector<std::pair<std::string, EventSpec>> kinds = {
      {"frame pointers", {}},
      {"no stacks", {.sample_type = kUsualSample & ~bit::kCallchain}},
      // Only the kernel's part of a chain: none where user code ran.
      {"registers and stack",
       {.sample_type = kUsualSample | bit::kRegsUser | bit::kStackUser, .user_regs_mask = 3}},
      {"last branches", {.sample_type = kUsualSample | bit::kBranchStack}},
      {"last branches with their index",
       {.sample_type = kUsualSample | bit::kBranchStack,
        .branch_sample_type = perfdata::branch_bit::kHardwareIndex}},
      {"last branches alone",
       {.sample_type = (kUsualSample | bit::kBranchStack) & ~bit::kCallchain}},
      {"the kernel excluded", {.flags = perfdata::attr_bit::kExcludeKernel}},
      {"user code excluded", {.flags = perfdata::attr_bit::kExcludeUser}},
  };
  for (const auto& [what, event] : kinds) {
    const Printer printer = printed(folder_ + "/perf.data", event);
    const Collapsed sum = collapse(printer.written);
    EXPECT_EQ(sum.samples, 80U) << what;
    EXPECT_EQ(sum.weight, printer.weight) << what;
    EXPECT_EQ(sum.weight, 80U * 81 / 2) << what;
    const bool chains = (event.sample_type & bit::kCallchain) != 0;
    // 27 without a chain, 27 with two entries, and 26 with nothing but a marker, which perf drops.
    EXPECT_EQ(sum.frames, chains ? 27U + 27 * 2 : 80U) << what;
  }
}

TEST_F(ScriptTextOfEvents, TracepointsHaveTheirFields) {
  namespace bit = perfdata::sample_bit;
  using perfdata::test::EventSpec;
  EventSpec event{.type = 2,
                  .config = 372,
                  .sample_type = (perfdata::test::kUsualSample & ~bit::kCallchain) | bit::kRaw};
  event.name = "sched:sched_switch";
  PerfDataBuilder builder{event};
  builder.comm(kPid, kPid, "sh", Stamp{kPid, kPid, 10, 0});
  perfdata::test::Bytes payload;
  payload.u64(372).chars("a\nb").zeros(13).u32(static_cast<uint32_t>(-7));
  const auto& bytes = payload.data();
  builder.sample({.pid = kPid,
                  .tid = kPid,
                  .time = 1000,
                  .ip = kCode,
                  .period = 5,
                  .raw = {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
  builder.feature(perfdata::Feature::tracing_data,
                  perfdata::test::tracing_data(
                      {"name: sched_switch\nID: 372\nformat:\n"
                       "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
                       "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                       "\tfield:int prev_prio;\toffset:24;\tsize:4;\tsigned:1;\n"
                       "\tfield:int gone;\toffset:4000;\tsize:4;\tsigned:1;\n"
                       "\nprint fmt: \"prev_comm=%s\", REC->prev_comm\n"}));
  builder.feature(perfdata::Feature::event_descriptions, builder.event_names());
  const std::string path = write("perf.data", builder.file());
  auto session = Session::open(path, {});
  ASSERT_TRUE(session);
  Printer printer(**session);
  ASSERT_TRUE((*session)->run(printer));
  printer.finish();
  EXPECT_TRUE(printer.written.starts_with(fmt::format(
      "sh {} [000]     0.000001: sched:sched_switch: prev_comm=a\\x0ab prev_prio=-7\n\t", kPid)))
      << printer.written;
}

}  // namespace
}  // namespace jitscope
