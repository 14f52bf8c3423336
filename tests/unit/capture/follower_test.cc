// Follows this very process: its own perf map, and executable memory made here.
#include "capture/follower.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "capture/record_output.h"
#include "code/recorded_name.h"
#include "formats/jitdump/jitdump.h"
#include "process/process.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct SeenLoad {
  std::string name;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t since = 0;
  uint64_t time = 0;
  std::string code;
  uint32_t pid = 0;
};
struct Seen : jitdump::Handler {
  std::vector<SeenLoad> loads;
  std::vector<jitdump::Gone> goners;
  int closes = 0;
  bool on_load(const jitdump::Load& load) override {
    loads.push_back({std::string(load.name), load.address, load.size, load.since, load.time,
                     std::string(reinterpret_cast<const char*>(load.code.data()), load.code.size()),
                     load.pid});
    return true;
  }
  bool on_move(const jitdump::Move& /*move*/) override { return true; }
  bool on_gone(const jitdump::Gone& gone) override {
    goners.push_back(gone);
    return true;
  }
  bool on_close(const jitdump::Close& /*close*/) override {
    ++closes;
    return true;
  }
};

Seen read_dump(const std::string& path) {
  Seen seen;
  auto source = open_byte_source(path);
  EXPECT_TRUE(source) << to_string(source.error());
  if (!source) return seen;
  auto reader = jitdump::Reader::open(std::move(*source));
  EXPECT_TRUE(reader) << to_string(reader.error());
  if (!reader) return seen;
  EXPECT_TRUE((*reader)->read(seen));
  EXPECT_TRUE((*reader)->diagnostics().empty());
  return seen;
}

class FollowerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "follower-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::remove(map_);
    page_ = static_cast<char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(page_, MAP_FAILED);
    std::memcpy(page_, "0123456789abcdefghijklmnopqrstuv", 32);
  }
  void TearDown() override {
    ::munmap(page_, 4096);
    fs::remove(map_);
    fs::remove_all(folder_);
  }

  void add_line(size_t offset, size_t size, const std::string& name) {
    std::ofstream file(map_, std::ios::app);
    file << std::hex << address(offset) << ' ' << size << ' ' << name << '\n';
  }
  [[nodiscard]] uint64_t address(size_t offset) const {
    return reinterpret_cast<uint64_t>(page_) + offset;
  }
  [[nodiscard]] FollowOptions options() const {
    FollowOptions options;
    options.folder = folder_;
    options.begin = begin_;
    return options;
  }
  // Steps until `done` says so.
  template <typename Done>
  static bool step_until(Follower& follower, Done done) {
    const uint64_t end = monotonic_ns() + 60'000'000'000;
    while (!done() && monotonic_ns() < end) {
      follower.step();
      ::usleep(1000);
    }
    return done();
  }

  std::string folder_;
  std::string map_ = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  char* page_ = nullptr;
  uint64_t begin_ = monotonic_ns();
};

std::string only_dump(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path().string());
  EXPECT_THAT(found, SizeIs(1));
  return found.empty() ? std::string() : found.front();
}

TEST_F(FollowerTest, EveryLineOfAGrowingMapGetsItsTime) {
  add_line(0, 8, "first");
  Follower follower(options());
  follower.add(::getpid(), true);
  follower.step();
  const uint64_t looked_once = monotonic_ns();
  EXPECT_EQ(follower.following(), 1);
  const std::string dump = only_dump(folder_);
  auto process = Process::open(::getpid());
  ASSERT_TRUE(process);
  EXPECT_EQ(dump, folder_ + "/jit-" + std::to_string(::getpid()) + "-" +
                      std::to_string(process->start_ticks()) + ".dump");
  struct stat info = {};
  ASSERT_EQ(::stat(dump.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  // What is there so far can be read while the rest is still to come.
  EXPECT_THAT(read_dump(dump).loads, SizeIs(1));

  add_line(8, 8, "second one");
  ASSERT_TRUE(step_until(follower, [&] { return read_dump(dump).loads.size() == 2; }));
  const uint64_t looked_twice = monotonic_ns();
  add_line(0, 4, "JS:*third /a.js:1:2");
  const FollowReport report = follower.finish();

  const Seen seen = read_dump(dump);
  ASSERT_THAT(seen.loads, SizeIs(3));
  EXPECT_EQ(seen.closes, 1);
  EXPECT_THAT(seen.goners, IsEmpty());
  // The first look's count from the beginning of the recording.
  EXPECT_EQ(seen.loads[0].name, "first");
  EXPECT_EQ(seen.loads[0].time, begin_);
  EXPECT_EQ(seen.loads[0].since, begin_);
  EXPECT_EQ(seen.loads[0].address, address(0));
  EXPECT_EQ(seen.loads[0].size, 8);
  EXPECT_EQ(seen.loads[0].code, "01234567");
  EXPECT_EQ(seen.loads[0].pid, static_cast<uint32_t>(::getpid()));
  // The others since the look before: they came between two looks.
  EXPECT_EQ(seen.loads[1].name, "second one");
  EXPECT_EQ(seen.loads[1].code, "89abcdef");
  EXPECT_GT(seen.loads[1].since, begin_);
  EXPECT_LT(seen.loads[1].since, seen.loads[1].time);
  EXPECT_GT(seen.loads[1].time, looked_once);
  EXPECT_LE(seen.loads[1].time, looked_twice);
  const RecordedName third = decode_recorded_name(seen.loads[2].name);
  EXPECT_EQ(third.name, "JS:*third /a.js:1:2");
  EXPECT_EQ(third.tier, Tier::turbofan);
  EXPECT_GT(seen.loads[2].since, looked_once);
  EXPECT_GT(seen.loads[2].time, looked_twice);

  ASSERT_THAT(report.processes, SizeIs(1));
  const FollowedSummary& summary = report.processes[0];
  EXPECT_EQ(summary.pid, ::getpid());
  EXPECT_EQ(summary.dump, dump);
  EXPECT_EQ(summary.bodies, 3);
  EXPECT_EQ(summary.reason, "");
  EXPECT_TRUE(summary.jit);
  EXPECT_GE(summary.looks, 3);
  EXPECT_GT(report.cpu_ns, 0);
}

TEST_F(FollowerTest, AMapThatComesLateIsFound) {
  Follower follower(options());
  follower.add(::getpid(), true);
  follower.step();
  EXPECT_EQ(follower.following(), 0);
  add_line(0, 8, "late");
  ASSERT_TRUE(step_until(follower, [&] { return follower.following() == 1; }));
  (void)follower.finish();
  EXPECT_EQ(read_dump(only_dump(folder_)).loads.at(0).name, "late");
}

TEST_F(FollowerTest, ImpossibleLinesAreCountedAndHurtNobody) {
  add_line(0, 0, "nothing");
  {
    std::ofstream file(map_, std::ios::app);
    file << "1000 ffffffffffff0000 everything\nnonsense\n0 10 nowhere\n";
  }
  add_line(16, 4, "fine");
  Follower follower(options());
  follower.add(::getpid(), true);
  follower.step();
  const FollowReport report = follower.finish();
  const Seen seen = read_dump(only_dump(folder_));
  ASSERT_THAT(seen.loads, SizeIs(2));
  EXPECT_EQ(seen.loads[0].name, "nowhere");
  EXPECT_EQ(seen.loads[0].code, std::string(16, '\0'));  // nothing is mapped there
  EXPECT_EQ(seen.loads[1].name, "fine");
  EXPECT_EQ(seen.loads[1].code, "ghij");
  EXPECT_EQ(report.processes.at(0).skipped, 3);
}

TEST_F(FollowerTest, AProcessWithoutASourceSaysWhy) {
  Follower follower(options());
  follower.add(::getpid(), true);
  follower.add(0x7ffffffe, true);  // no such process
  follower.step();
  const FollowReport report = follower.finish();
  ASSERT_THAT(report.processes, SizeIs(1));
  EXPECT_EQ(report.processes[0].dump, "");
  EXPECT_THAT(report.processes[0].reason, ::testing::HasSubstr("no perf map"));
  EXPECT_NE(report.processes[0].hint, "");
}

TEST_F(FollowerTest, OnlyWhoWantsToKnowHearsOfProcessesWithoutJit) {
  ::munmap(page_, 4096);
  Follower follower(options());
  follower.add(::getpid());
  follower.step();
  EXPECT_THAT(follower.finish().processes, IsEmpty());
}

TEST_F(FollowerTest, AMarkedJitdumpIsLeftToItsOwner) {
  const std::string path = folder_ + "/some-name";
  std::string header;
  jitdump::Writer(1).header(header, 0);
  std::ofstream(path) << header;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* marker = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  ASSERT_NE(marker, MAP_FAILED);
  add_line(0, 8, "also in a map");
  Follower follower(options());
  follower.add(::getpid(), true);
  const uint64_t next = follower.step();
  ::munmap(marker, 4096);
  EXPECT_EQ(next, UINT64_MAX);
  const FollowReport report = follower.finish();
  ASSERT_THAT(report.processes, SizeIs(1));
  EXPECT_EQ(report.processes[0].own_jitdump, path);
  EXPECT_EQ(report.processes[0].dump, "");
}

TEST_F(FollowerTest, TheThreadFindsNewLinesByItself) {
  add_line(0, 8, "first");
  FollowerThread follower(options());
  follower.add(::getpid(), true);
  const uint64_t end = monotonic_ns() + 60'000'000'000;
  while (follower.following() != 1 && monotonic_ns() < end) ::usleep(1000);
  const std::string dump = only_dump(folder_);
  add_line(8, 8, "second");
  while (read_dump(dump).loads.size() < 2 && monotonic_ns() < end) ::usleep(1000);
  EXPECT_THAT(read_dump(dump).loads, SizeIs(2));
  EXPECT_THAT(follower.finish().processes, SizeIs(1));
}

TEST_F(FollowerTest, ADumpThatCannotBeMadeEndsTheFollowing) {
  add_line(0, 8, "first");
  FollowOptions nowhere = options();
  nowhere.folder = folder_ + "/missing";
  Follower follower(nowhere);
  follower.add(::getpid(), true);
  follower.step();
  const FollowReport report = follower.finish();
  ASSERT_THAT(report.processes, SizeIs(1));
  EXPECT_THAT(report.processes[0].reason, ::testing::HasSubstr("cannot create"));
}

TEST_F(FollowerTest, AMapThatIsTooLargeForOneLookIsReadOn) {
  {
    std::ofstream file(map_);
    for (int i = 0; i < 60'000; ++i) {
      file << std::hex << address(0) << " 1 name of some length " << std::dec << i << '\n';
    }
  }
  int asked = 0;
  // Every look is broken off as soon as that is asked for.
  Follower follower(options(), [&] { return ++asked > 0; });
  follower.add(::getpid(), true);
  ASSERT_TRUE(step_until(follower, [&] { return asked > 0; }));
  EXPECT_GT(follower.step(), 0U);
  const FollowReport report = follower.finish();
  ASSERT_THAT(report.processes, SizeIs(1));
  EXPECT_EQ(report.processes[0].bodies, 60'000U) << "what looks left, the last one read";
  EXPECT_EQ(report.processes[0].unread_bytes, 0U);
  EXPECT_EQ(report.processes[0].reason, "");
}

TEST_F(FollowerTest, AnEarlierRecordingIsKeptOnce) {
  const std::string path = folder_ + "/perf.data";
  for (int i = 0; i < 3; ++i) {
    auto file = RecordFile::create(path);
    ASSERT_TRUE(file) << to_string(file.error());
    const char digit = static_cast<char>('0' + i);
    ASSERT_TRUE(file->append(std::as_bytes(std::span(&digit, 1))));
    ASSERT_TRUE(file->create_names_folder());
    std::ofstream(names_folder(path) + "/jit-1-" + digit + ".dump") << digit;
  }
  const auto content = [](const std::string& name) {
    std::ifstream file(name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(content(path), "2");
  EXPECT_EQ(content(path + ".old"), "1");
  EXPECT_EQ(content(path + ".jit/jit-1-2.dump"), "2");
  EXPECT_EQ(content(path + ".old.jit/jit-1-1.dump"), "1");
  EXPECT_FALSE(fs::exists(path + ".old.jit/jit-1-0.dump"));
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat((path + ".jit").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);

  fs::create_symlink("/dev/null", folder_ + "/link");
  EXPECT_FALSE(RecordFile::create(folder_ + "/link"));
  EXPECT_FALSE(RecordFile::create(folder_));
}

}  // namespace
}  // namespace jitscope
