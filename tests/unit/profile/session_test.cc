#include "session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/clock.h"
#include "doctor/doctor.h"
#include "formats/jitdump/jitdump.h"
#include "formats/perfdata/writer.h"
#include "profile/collector.h"
#include "support/perfdata_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using perfdata::kContextKernel;
using perfdata::kContextUser;
using perfdata::test::EventSpec;
using perfdata::test::PerfDataBuilder;
using perfdata::test::Stamp;

// No machine gives out pids like these.
constexpr uint32_t kPid = 0x7fff0001;
constexpr uint32_t kChild = 0x7fff0002;
constexpr uint64_t kCode = 0x7f0000000000;
constexpr uint64_t kMilli = 1'000'000;

class Names : public SampleConsumer {
 public:
  explicit Names(Session& session) : session_(session) {}
  bool on_sample(const ResolvedSample& sample) override {
    std::string text;
    for (size_t i = sample.stack.size(); i-- > 0;) {
      const Location& location = session_.location(sample.stack[i]);
      const Frame& frame = session_.resolver().frames()[location.frame];
      if (!text.empty()) text += ' ';
      text +=
          frame.method.empty() ? "<" + std::string(to_string(frame.no_name)) + ">" : frame.method;
      if (frame.ambiguous) text += "?" + frame.candidates;
    }
    names.push_back(text);
    return true;
  }
  std::vector<std::string> names;

 private:
  Session& session_;
};

class SessionTest : public test::ScratchFolderTest {
 protected:
  std::string write_recording(const PerfDataBuilder& builder) {
    const std::vector<std::byte> bytes = builder.file();
    return write("perf.data", bytes);
  }

  // A dump in which one function follows another at the same address.
  std::string two_functions() {
    jitdump::Writer writer(1);
    std::string bytes;
    writer.header(bytes, 0);
    load(writer, bytes, "first", kCode, 0x100, 100 * kMilli);
    load(writer, bytes, "second", kCode + 0x40, 0x100, 200 * kMilli);
    return bytes;
  }
  static void load(jitdump::Writer& writer, std::string& bytes, std::string_view name,
                   uint64_t address, uint64_t size, uint64_t time) {
    const std::vector<std::byte> code(size);
    jitdump::Load load;
    load.time = load.since = time;
    load.pid = load.tid = 1;
    load.address = address;
    load.size = size;
    load.name = name;
    load.code = code;
    writer.load(bytes, load);
  }

  static void jit_process(PerfDataBuilder& builder, const std::string& dump) {
    builder.comm(kPid, kPid, "jit", Stamp{kPid, kPid, 10, 0});
    builder.mmap2({.pid = kPid,
                   .tid = kPid,
                   .start = kCode,
                   .length = 0x10000,
                   .path = "//anon",
                   .inode = 0,
                   .stamp = {.pid = kPid, .time = 20}});
    if (!dump.empty()) map_dump(builder, dump, 30);
  }
  // As a runtime marks its dump.
  static void map_dump(PerfDataBuilder& builder, const std::string& dump, uint64_t time) {
    builder.mmap2({.pid = kPid,
                   .tid = kPid,
                   .start = 0x1000,
                   .length = 0x1000,
                   .path = dump,
                   .inode = 0,
                   .stamp = {.pid = kPid, .time = time}});
  }
  static void sample(PerfDataBuilder& builder, uint32_t pid, uint64_t time, uint64_t ip) {
    builder.sample(
        {.pid = pid, .tid = pid, .time = time, .ip = ip, .callchain = {kContextUser, ip}});
  }
  std::vector<std::string> names(const PerfDataBuilder& builder, const NamingOptions& naming = {}) {
    SessionOptions options;
    options.naming = naming;
    auto session = Session::open(write_recording(builder), options);
    EXPECT_TRUE(session) << to_string(session.error());
    if (!session) return {};
    Names result(**session);
    const Status status = (*session)->run(result);
    EXPECT_TRUE(status);
    return result.names;
  }
};

TEST_F(SessionTest, ADumpIsRightInTime) {
  PerfDataBuilder builder;
  jit_process(builder, write("any.name", two_functions()));
  sample(builder, kPid, 150 * kMilli, kCode + 0x50);
  sample(builder, kPid, 250 * kMilli, kCode + 0x50);
  sample(builder, kPid, 250 * kMilli, kCode + 0x10);  // of the first, which ended
  sample(builder, kPid, 90 * kMilli, kCode + 0x50);   // a little early: grace
  EXPECT_THAT(names(builder), ::testing::UnorderedElementsAre(
                                  "first", "second",
                                  "<the code that lay there had been replaced by then>", "first"));
}

TEST_F(SessionTest, WhatWasCompiledAfterTheLastLookHasThatReason) {
  PerfDataBuilder builder;
  jit_process(builder, "");
  sample(builder, kPid, 250 * kMilli, kCode + 0x50);
  sample(builder, kPid, 250 * kMilli, kCode + 0x500);
  sample(builder, kPid, 301 * kMilli, kCode + 0x50);
  sample(builder, kPid, 301 * kMilli, kCode + 0x500);
  std::string dump = two_functions();
  jitdump::Writer(kPid).close(dump, 300 * kMilli);
  const std::string recording = write_recording(builder);
  const std::filesystem::path folder = recording + ".jit";
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  write(folder.filename().string() + "/jit-" + std::to_string(kPid) + "-1.dump", dump);
  EXPECT_THAT(names(builder),
              ::testing::ElementsAre(
                  "second", "<no body of the process's jitdump lay there at that time>", "second",
                  "<compiled after the last look of jitscope record, before the process "
                  "ended>"));
}

// Bodies of a follower's first look may carry the time at which the recording began: when the
// process was looked at last says whose they are.
TEST_F(SessionTest, ADumpIsOfTheProgramThatWasLookedAtLast) {
  PerfDataBuilder builder;
  builder.comm(kPid, kPid, "sh", Stamp{kPid, kPid, 10, 0});
  builder.comm(kPid, kPid, "java", Stamp{kPid, kPid, 400 * kMilli, 0}, true);
  builder.mmap2({.pid = kPid,
                 .tid = kPid,
                 .start = kCode,
                 .length = 0x10000,
                 .path = "//anon",
                 .inode = 0,
                 .stamp = {.pid = kPid, .time = 410 * kMilli}});
  sample(builder, kPid, 420 * kMilli, kCode + 0x50);
  const std::filesystem::path folder = write_recording(builder) + ".jit";
  std::filesystem::create_directory(folder);
  const std::string name = folder.filename().string() + "/jit-" + std::to_string(kPid) + "-1.dump";
  for (const uint64_t last_look : {415, 300}) {
    std::string dump = two_functions();  // of 100 and 200 ms
    jitdump::Writer(kPid).close(dump, last_look * kMilli);
    write(name, dump);
    auto session = Session::open(folder_ + "/perf.data", {});
    ASSERT_TRUE(session);
    Collector collector(**session, {});
    ASSERT_TRUE((*session)->run_by_code(collector));
    const Diagnosis diagnosis = diagnose(**session, collector.take());
    EXPECT_EQ(diagnosis.unnamed_leaves, last_look == 415 ? 0 : 1);
    // And never without a word.
    ASSERT_FALSE(diagnosis.sources.empty());
    const SourceUse& source =
        diagnosis.sources.back().used ? diagnosis.sources.back() : diagnosis.sources.front();
    EXPECT_EQ(source.used, last_look == 415) << source.text;
    EXPECT_THAT(source.text, ::testing::HasSubstr("-1.dump"));
  }
}

// What became of jit-5.dump in a recording.
std::string use_of_dump(const std::string& recording) {
  auto session = Session::open(recording, {});
  if (!session) return to_string(session.error());
  Collector collector(**session, {});
  EXPECT_TRUE((*session)->run_by_code(collector));
  const Diagnosis diagnosis = diagnose(**session, collector.take());
  for (const SourceUse& source : diagnosis.sources) {
    if (source.text.find("jit-5.dump") != std::string::npos) {
      return (source.used ? "used " : "refused ") + source.text;
    }
  }
  return "not told of";
}

// The process is gone, and it was another user's: what it mapped tells which dump is its own.
TEST_F(SessionTest, ADumpOfAnotherUserCountsWhereTheRecordingProvesIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  const std::string dump = write("jit-5.dump", two_functions());
  ASSERT_EQ(::chown(dump.c_str(), 4321, 4321), 0);
  ASSERT_EQ(::chmod(dump.c_str(), 0600), 0);
  struct stat status{};
  ASSERT_EQ(::stat(dump.c_str(), &status), 0);
  const auto told = [&](auto&& change, uint32_t mode = 0600, uint64_t age = 0) {
    EXPECT_EQ(::chmod(dump.c_str(), mode), 0);
    PerfDataBuilder builder;
    const uint64_t now = clock_ns(CLOCK_REALTIME) - age;
    builder.feature(perfdata::Feature::clock_data,
                    perfdata::test::Bytes().chars(
                        perfdata::clock_data_feature(CLOCK_MONOTONIC, now, 150 * kMilli)));
    jit_process(builder, "");
    perfdata::test::MmapSpec mapping{.pid = kPid,
                                     .tid = kPid,
                                     .start = 0x1000,
                                     .length = 0x1000,
                                     .path = dump,
                                     .major = ::major(status.st_dev),
                                     .minor = ::minor(status.st_dev),
                                     .inode = status.st_ino,
                                     .stamp = {.pid = kPid, .time = 100 * kMilli}};
    change(mapping);
    builder.mmap2(mapping);
    sample(builder, kPid, 150 * kMilli, kCode + 0x50);
    // The folder of the recording is searched for copies, too: not here.
    std::filesystem::create_directory(folder_ + "/elsewhere");
    const std::vector<std::byte> bytes = builder.file();
    return use_of_dump(write("elsewhere/perf.data", bytes));
  };
  using ::testing::HasSubstr;
  using ::testing::StartsWith;
  EXPECT_THAT(told([](auto&) {}), StartsWith("used"));
  EXPECT_THAT(told([](auto&) {}, 0644), StartsWith("used"));
  EXPECT_THAT(
      told([](auto&) {}, 0620),
      ::testing::AllOf(StartsWith("refused"), HasSubstr("others may write it (mode 0620)")));
  EXPECT_THAT(told([](auto&) {}, 0602), StartsWith("refused"));
  EXPECT_THAT(told([](auto& mapping) { ++mapping.minor; }),
              ::testing::AllOf(StartsWith("refused"), HasSubstr("user 4321"), HasSubstr("device")));
  EXPECT_THAT(told([](auto& mapping) { ++mapping.inode; }), StartsWith("refused"));
  EXPECT_THAT(told([](auto& mapping) { mapping.build_id = "01234567890123456789"; }),
              ::testing::AllOf(StartsWith("refused"), HasSubstr("--no-buildid-mmap")));
  // An inode that is used again: made after the mapping.
  EXPECT_THAT(told([](auto&) {}, 0600, 100'000 * kMilli),
              ::testing::AllOf(StartsWith("refused"), HasSubstr("made after the process had")));
}

// A file that was left out is told of, whatever the reason.
TEST_F(SessionTest, NoSourceIsLeftOutWithoutAWord) {
  PerfDataBuilder builder;
  const std::string empty = write("jit-5.dump", "");
  jit_process(builder, empty);
  sample(builder, kPid, 150 * kMilli, kCode + 0x50);
  std::filesystem::create_directory(write_recording(builder) + ".jit");
  const std::string recorded = "perf.data.jit/jit-" + std::to_string(kPid);
  write(recorded + "-1.dump", "");
  write(recorded + "-2.dump", "no jitdump at all");
  write(recorded + "-3.dump.new", "");
  std::filesystem::create_directory(folder_ + "/given");
  write("given/a.dump", "");
  write("given/notes.txt", "none of ours");
  std::string other;
  jitdump::Writer(4711).header(other, 0);
  SessionOptions options;
  options.naming.jitdumps = {folder_ + "/given", write("b.dump", other), write("c.dump", other)};
  options.naming.perf_maps[4712] = write("4712.map", "1000 10 f\n");
  auto session = Session::open(folder_ + "/perf.data", options);
  ASSERT_TRUE(session);
  Collector collector(**session, {});
  ASSERT_TRUE((*session)->run_by_code(collector));
  const Diagnosis diagnosis = diagnose(**session, collector.take());
  std::vector<std::string> told = diagnosis.notes;
  for (const SourceUse& source : diagnosis.sources) {
    EXPECT_FALSE(source.used) << source.text;
    told.push_back(source.text);
  }
  for (const auto& [file, what] : std::vector<std::pair<std::string, std::string>>{
           {"jit-5.dump", "is empty"},
           {"-1.dump", "is empty"},
           {"-2.dump", "is no jitdump"},
           {"-3.dump.new", "never finished"},
           {"given/a.dump", "is empty"},
           {"b.dump", "process 4711, which has no samples"},
           {"c.dump", "process 4711, which has no samples"},
           {"4712.map", "process 4712 has no samples"}}) {
    EXPECT_THAT(told, ::testing::Contains(::testing::AllOf(::testing::HasSubstr(file),
                                                           ::testing::HasSubstr(what))));
  }
  EXPECT_THAT(told, ::testing::Not(::testing::Contains(::testing::HasSubstr("notes.txt"))));
}

TEST_F(SessionTest, AChildHasTheNamesOfADumpThatItsParentMapsLater) {
  PerfDataBuilder builder;
  jit_process(builder, "");
  builder.fork(kChild, kPid, Stamp{kChild, kChild, 150 * kMilli, 0});
  sample(builder, kChild, 160 * kMilli, kCode + 0x10);
  map_dump(builder, write("any.name", two_functions()), 170 * kMilli);
  sample(builder, kChild, 180 * kMilli, kCode + 0x10);
  EXPECT_THAT(names(builder), ::testing::ElementsAre("<JIT code without a map or dump>", "first"));
}

TEST_F(SessionTest, WhatNoDumpKnowsStaysSo) {
  // An answer is kept as long as it holds: for good, when nothing comes any more.
  PerfDataBuilder builder;
  jit_process(builder, write("any.name", two_functions()));
  sample(builder, kPid, 250 * kMilli, kCode + 0x500);
  auto session = Session::open(write_recording(builder), {});
  ASSERT_TRUE(session);
  struct Asks : SampleConsumer {
    explicit Asks(Session& session) : session_(session) {}
    bool on_sample(const ResolvedSample& sample) override {
      AddressQuery query;
      query.time = sample.sample.head.time;
      query.ip = kCode + 0x500;
      const auto life = session_.processes().process(sample.thread.pid);
      answer = session_.resolver().resolve(*life, query);
      return true;
    }
    Session& session_;
    Resolution answer;
  } asks(**session);
  ASSERT_TRUE((*session)->run(asks));
  EXPECT_FALSE(asks.answer.named);
  EXPECT_EQ(asks.answer.valid_until, kForever);
}

TEST_F(SessionTest, DumpsOfARecordingThatWasWrittenOverAreRefused) {
  for (const std::string version : {"jitscope 0.1", "6.1.192", ""}) {
    PerfDataBuilder builder;
    jit_process(builder, "");
    sample(builder, kPid, 250 * kMilli, kCode + 0x50);
    if (!version.empty())
      builder.feature(perfdata::Feature::version, perfdata::test::Bytes().header_text(version));
    const std::filesystem::path folder = write_recording(builder) + ".jit";
    std::filesystem::create_directory(folder);
    write(folder.filename().string() + "/jit-" + std::to_string(kPid) + "-1.dump", two_functions());
    const bool ours = version != "6.1.192";
    EXPECT_THAT(names(builder),
                ::testing::ElementsAre(ours ? "second" : "<the JIT's map or dump was refused>"))
        << version;
  }
}

TEST_F(SessionTest, AMappingOverTheCodeHidesNothing) {
  PerfDataBuilder builder;
  jit_process(builder, write("any.name", two_functions()));
  builder.mmap2({.pid = kPid,
                 .tid = kPid,
                 .start = kCode,
                 .length = 0x1000,
                 .path = "//anon",
                 .inode = 0,
                 .stamp = {.pid = kPid, .time = 120 * kMilli}});
  sample(builder, kPid, 150 * kMilli, kCode + 0x50);
  EXPECT_THAT(names(builder), ::testing::ElementsAre("first"));
}

TEST_F(SessionTest, APerfMapNeverClaimsMoreThanItKnows) {
  PerfDataBuilder builder;
  jit_process(builder, "");
  sample(builder, kPid, 150 * kMilli, kCode + 0x50);
  sample(builder, kPid, 150 * kMilli, kCode + 0x10);
  sample(builder, kPid, 150 * kMilli, kCode + 0x900);
  write("perf-" + std::to_string(kPid) + ".map",
        "7f0000000000 100 first\n7f0000000040 100 second\n");
  EXPECT_THAT(names(builder), ::testing::UnorderedElementsAre(
                                  "second?second | first", "first",
                                  "<no line of the process's perf map holds the address>"));
}

TEST_F(SessionTest, VersionsOfOneMethodAreNotAmbiguous) {
  PerfDataBuilder builder;
  jit_process(builder, "");
  sample(builder, kPid, 150 * kMilli, kCode + 0x50);
  write("perf-" + std::to_string(kPid) + ".map",
        "7f0000000000 100 JS:^f /a.js:1:1\n7f0000000000 100 JS:*f /a.js:1:1\n");
  EXPECT_THAT(names(builder), ::testing::ElementsAre("f /a.js:1:1"));
}

TEST_F(SessionTest, AChildRunsItsParentsCodeAsOfTheFork) {
  PerfDataBuilder builder;
  jit_process(builder, write("any.name", two_functions()));
  builder.fork(kChild, kPid, Stamp{kChild, kChild, 150 * kMilli, 0});
  sample(builder, kChild, 160 * kMilli, kCode + 0x50);
  sample(builder, kChild, 260 * kMilli, kCode + 0x50);  // the parent's second is not the child's
  sample(builder, kPid, 260 * kMilli, kCode + 0x50);
  EXPECT_THAT(names(builder), ::testing::ElementsAre("first", "first", "second"));
}

TEST_F(SessionTest, WithoutACommonClockADumpIsCertainOnlyWhereOneNameEverLay) {
  PerfDataBuilder builder({EventSpec{.use_clockid = false}});
  jit_process(builder, write("any.name", two_functions()));
  sample(builder, kPid, 150 * kMilli, kCode + 0x50);
  sample(builder, kPid, 150 * kMilli, kCode + 0x10);
  EXPECT_THAT(names(builder), ::testing::UnorderedElementsAre("second?second | first", "first"));
}

TEST_F(SessionTest, AFileThatIsNoElfIsNamedByTheJitSources) {
  const std::string library = write("System.dll", "MZ and more");
  PerfDataBuilder builder;
  builder.comm(kPid, kPid, "dotnet", Stamp{kPid, kPid, 10, 0});
  builder.mmap2({.pid = kPid,
                 .tid = kPid,
                 .start = kCode,
                 .length = 0x10000,
                 .path = library,
                 .inode = 0,
                 .stamp = {.pid = kPid, .time = 20}});
  sample(builder, kPid, 150 * kMilli, kCode + 0x50);
  write("perf-" + std::to_string(kPid) + ".map", "7f0000000000 100 Precompiled\n");
  EXPECT_THAT(names(builder), ::testing::ElementsAre("Precompiled"));
}

TEST_F(SessionTest, AMapThatIsASymbolicLinkIsRefused) {
  PerfDataBuilder builder;
  jit_process(builder, "");
  sample(builder, kPid, 150 * kMilli, kCode + 0x50);
  const std::string real = write("real.map", "7f0000000000 100 f\n");
  std::filesystem::create_symlink(real, folder_ + "/perf-" + std::to_string(kPid) + ".map");
  EXPECT_THAT(names(builder), ::testing::ElementsAre("<the JIT's map or dump was refused>"));
  NamingOptions force;
  force.force = true;
  EXPECT_THAT(names(builder, force), ::testing::ElementsAre("f"));
}

TEST_F(SessionTest, AGivenDumpAndAGivenMapAreUsed) {
  PerfDataBuilder builder;
  jit_process(builder, "");
  sample(builder, kPid, 150 * kMilli, kCode + 0x50);
  NamingOptions dump;
  dump.jitdumps = {write("given.dump", two_functions())};
  EXPECT_THAT(names(builder, dump), ::testing::ElementsAre("first"));
  NamingOptions map;
  map.perf_maps[kPid] = write("given.map", "7f0000000000 100 mapped\n");
  EXPECT_THAT(names(builder, map), ::testing::ElementsAre("mapped"));
}

// Of the maps in a container's file system, the one with code where the process may execute.
TEST_F(SessionTest, AMapInAPidNamespaceIsFoundByItsAddresses) {
  std::filesystem::create_directories(folder_ + "/root/tmp");
  write("root/tmp/perf-1.map", "7f0000000040 100 mine\n");
  write("root/tmp/perf-2.map", "550000000040 100 another\n");
  NamingOptions options;
  options.root = folder_ + "/root";
  for (const uint64_t name_space : {0xEFFFFFFCULL, 0xF0000001ULL}) {
    PerfDataBuilder builder;
    jit_process(builder, "");
    const std::vector<perfdata::Namespaces::Link> links(7, {4, name_space});
    builder.namespaces(kPid, kPid, links, Stamp{kPid, kPid, 40, 0});
    sample(builder, kPid, 150 * kMilli, kCode + 0x50);
    EXPECT_THAT(names(builder, options),
                ::testing::ElementsAre(name_space == 0xEFFFFFFC ? "<JIT code without a map or dump>"
                                                                : "mine"));
  }
}

// What stacks have in common is not resolved again; the answers must be as if it were.
TEST_F(SessionTest, SharedStacksGiveEachFrameItsOwnAddress) {
  std::mt19937 random(11);
  PerfDataBuilder builder;
  jit_process(builder, "");
  std::vector<std::vector<uint64_t>> chains;
  std::vector<uint64_t> chain = {kContextUser};
  for (uint64_t i = 0; i < 2000; ++i) {
    if (random() % 10 == 0) chain = {random() % 2 == 0 ? kContextUser : kContextKernel};
    while (chain.size() > 1 && random() % 2 == 0) chain.erase(chain.begin() + 1);
    const size_t more = random() % 5;
    for (size_t k = 0; k < more; ++k) {
      chain.insert(chain.begin() + 1, kCode + random() % 64);
      if (random() % 8 == 0) chain.insert(chain.begin() + 1, kContextUser);
    }
    chains.push_back(chain);
    builder.sample({.pid = kPid,
                    .tid = kPid,
                    .time = 100 * kMilli + i,
                    .ip = chain.size() > 1 ? chain[1] : 0,
                    .callchain = chain});
  }
  class Check : public SampleConsumer {
   public:
    Check(Session& session, const std::vector<std::vector<uint64_t>>& chains)
        : session_(session), chains_(chains) {}
    bool on_sample(const ResolvedSample& sample) override {
      std::vector<uint64_t> expected;
      for (const uint64_t value : chains_[next]) {
        if (value < perfdata::kContextMax) expected.insert(expected.begin(), value);
      }
      std::vector<uint64_t> found;
      for (const LocationId id : sample.stack) found.push_back(session_.location(id).shown_ip);
      EXPECT_EQ(found, expected) << "sample " << next;
      if (next > 0) {
        EXPECT_LE(sample.shared, std::min(last_.size(), found.size()));
        for (size_t i = 0; i < sample.shared; ++i) EXPECT_EQ(sample.stack[i], last_[i]);
      }
      last_.assign(sample.stack.begin(), sample.stack.end());
      ++next;
      return true;
    }
    size_t next = 0;

   private:
    Session& session_;
    const std::vector<std::vector<uint64_t>>& chains_;
    std::vector<LocationId> last_;
  };
  auto session = Session::open(write_recording(builder), {});
  ASSERT_TRUE(session);
  Check check(**session, chains);
  ASSERT_TRUE((*session)->run(check));
  EXPECT_EQ(check.next, chains.size());
}

TEST_F(SessionTest, TheCollectorAddsUpAndTheDoctorCounts) {
  PerfDataBuilder builder;
  jit_process(builder, write("any.name", two_functions()));
  for (uint64_t i = 0; i < 7; ++i) sample(builder, kPid, 150 * kMilli + i, kCode + 0x50);
  for (uint64_t i = 0; i < 3; ++i) sample(builder, kPid, 150 * kMilli + i, kCode + 0x900);
  auto session = Session::open(write_recording(builder), {});
  ASSERT_TRUE(session);
  Collector collector(**session, {.timeline = true});
  ASSERT_TRUE((*session)->run_by_code(collector));
  const Profile profile = collector.take();
  EXPECT_EQ(profile.samples, 10U);
  EXPECT_EQ(profile.timeline.size(), 10U);
  ASSERT_EQ(profile.stacks.size(), 2U);
  EXPECT_EQ(profile.stacks[0].samples + profile.stacks[1].samples, 10U);
  ASSERT_EQ(profile.groups.size(), 1U);
  EXPECT_EQ(profile.groups[0].comm, "jit");
  const Diagnosis diagnosis = diagnose(**session, profile);
  EXPECT_EQ(diagnosis.unnamed_leaves, 3U);
  ASSERT_EQ(diagnosis.complaints.size(), 1U);
  EXPECT_EQ(diagnosis.complaints[0].leaf_samples, 3U);
  EXPECT_FALSE(diagnosis.complaints[0].advice.empty());
  ASSERT_FALSE(diagnosis.sources.empty());
  EXPECT_TRUE(diagnosis.sources[0].used);
}

}  // namespace
}  // namespace jitscope
