// run_remote_calls, map_file and map_memfd on running programs.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>

#include "surgery/padding.h"
#include "surgery/stub.h"
#include "unit/surgery/surgery_target.h"

namespace jitscope {
namespace {

using ::testing::HasSubstr;
using Kind = RemoteArgument::Kind;

size_t open_files(pid_t pid) {
  size_t count = 0;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), error)) {
    (void)entry;
    ++count;
  }
  return count;
}

// No stub is left in the padding of any library.
bool padding_clean(const Process& process) {
  const auto maps = process.maps();
  if (!maps) return false;
  const auto places = find_padding(process, *maps, 64);
  if (!places) return false;
  for (const Padding& place : *places) {
    Bytes bytes(place.size);
    if (!process.memory().read(place.address, bytes)) return false;
    for (const std::byte b : bytes) {
      if (b != std::byte{0}) return false;
    }
  }
  return true;
}

TEST(MapFile, MapsUnderLoadAndLeavesNothingBehind) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  const CodeFile file(3 * 4096);
  const size_t files = open_files(target.pid());
  for (int i = 0; i < 50; ++i) {
    const uint64_t gap = target.gap(3 * 4096);
    ASSERT_NE(gap, 0U);
    const auto report = map_code(target.process(), file, gap, 3 * 4096);
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_EQ(report->threads, 1U);
    const auto maps = target.process().maps();
    ASSERT_TRUE(maps);
    const Mapping* mapping = find_mapping(*maps, gap);
    ASSERT_NE(mapping, nullptr);
    EXPECT_EQ(mapping->path, file.path());
    EXPECT_TRUE(mapping->executable && !mapping->writable && !mapping->shared);
  }
  EXPECT_EQ(open_files(target.pid()), files);
  EXPECT_TRUE(padding_clean(target.process()));
  EXPECT_TRUE(target.healthy());
  EXPECT_TRUE(target.ends_well());
}

TEST(MapFile, SaysWhyNot) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  const CodeFile file;
  const uint64_t gap = target.gap();
  auto result = map_file(target.process(), "/no/such/file", file.fd(), {gap, 4096, 0, {}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().system_errno, ENOENT);
  EXPECT_THAT(result.error().hint, HasSubstr("mount namespace"));
  result = map_code(target.process(), file, target.one() & ~4095ULL, 4096);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().system_errno, EEXIST);
  EXPECT_EQ(map_file(target.process(), "relative", file.fd(), {gap, 4096, 0, {}}).error().kind,
            ErrorKind::usage);
  EXPECT_EQ(map_code(target.process(), file, gap + 1, 4096).error().kind, ErrorKind::usage);
  EXPECT_EQ(map_code(target.process(), file, gap, 0).error().kind, ErrorKind::usage);
  // A mount without exec.
  result = map_file(target.process(), "/proc/self/status", file.fd(), {gap, 4096, 0, {}});
  ASSERT_FALSE(result);
  EXPECT_TRUE(target.healthy());
  EXPECT_TRUE(padding_clean(target.process()));
}

TEST(MapFile, AnotherFileThanOursIsRefused) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  const CodeFile ours;
  const CodeFile theirs;
  const uint64_t gap = target.gap();
  const auto result = map_file(target.process(), theirs.path(), ours.fd(), {gap, 4096, 0, {}});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("another file than ours"));
  const auto maps = target.process().maps();
  ASSERT_TRUE(maps);
  EXPECT_EQ(find_mapping(*maps, gap), nullptr);
  EXPECT_TRUE(padding_clean(target.process()));
  EXPECT_TRUE(target.healthy());
}

TEST(MapFile, ReplacesAMappingInAFullStopThatAllowsIt) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  const CodeFile first;
  const CodeFile second;
  const uint64_t gap = target.gap();
  ASSERT_TRUE(map_code(target.process(), first, gap));
  const auto mapped = [&] {
    const auto maps = target.process().maps();
    const Mapping* mapping = maps ? find_mapping(*maps, gap) : nullptr;
    return mapping == nullptr ? std::string() : mapping->path;
  };
  size_t threads = 0;
  Placement place{gap, 4096, 0, [&](std::span<const StoppedThread> stopped) -> Status {
                    threads = stopped.size();
                    return fail(ErrorKind::not_possible, "not today");
                  }};
  const auto refused = map_file(target.process(), second.path(), second.fd(), place);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "not today");
  EXPECT_EQ(threads, 17U);
  EXPECT_EQ(mapped(), first.path());
  place.may_replace = [](std::span<const StoppedThread>) -> Status { return {}; };
  const auto replaced = map_file(target.process(), second.path(), second.fd(), place);
  ASSERT_TRUE(replaced) << to_string(replaced.error());
  EXPECT_EQ(mapped(), second.path());
  EXPECT_TRUE(target.healthy());
  EXPECT_TRUE(target.ends_well());
}

TEST(MapFile, ALongPathFitsOrSaysThatItDoesNot) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  const CodeFile file;
  const auto fits = map_file(target.process(), "/" + std::string(250, 'x'), file.fd(),
                             {target.gap(), 4096, 0, {}});
  ASSERT_FALSE(fits);
  EXPECT_EQ(fits.error().system_errno, ENOENT) << to_string(fits.error());
  const auto maps = target.process().maps();
  ASSERT_TRUE(maps);
  const auto none = find_padding(target.process(), *maps, 4096);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_possible);
}

TEST(MapMemfd, IsFilledWhileTheThreadWaits) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  const size_t files = open_files(target.pid());
  const uint64_t gap = target.gap(8192);
  const auto report = map_memfd(target.process(), "jitscope-test", {gap, 8192, 0, {}},
                                [](UniqueFd fd) { return fill_with_returns(fd, 8192); });
  ASSERT_TRUE(report) << to_string(report.error());
  std::array<std::byte, 8> bytes{};
  ASSERT_TRUE(target.process().memory().read(gap + 8184, bytes));
  EXPECT_EQ(bytes[7], std::byte{0xc3});
  EXPECT_EQ(open_files(target.pid()), files);
  EXPECT_TRUE(target.healthy());

  // When it cannot be filled it is not mapped, and the descriptor is closed all the same.
  const uint64_t other = target.gap(8192);
  const auto failed =
      map_memfd(target.process(), "jitscope-test", {other, 8192, 0, {}},
                [](UniqueFd) -> Status { return fail(ErrorKind::not_possible, "no bytes"); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, "no bytes");
  EXPECT_EQ(open_files(target.pid()), files);
  const auto maps = target.process().maps();
  ASSERT_TRUE(maps);
  EXPECT_EQ(find_mapping(*maps, other), nullptr);
  EXPECT_TRUE(padding_clean(target.process()));
  EXPECT_TRUE(target.healthy());
}

TEST(RemoteCalls, ResultsAndStopAll) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  bool before = false;
  std::vector<int64_t> seen;
  const auto then = [&](int64_t result) -> Status {
    seen.push_back(result);
    return {};
  };
  // dup2(dup(1), 200), close both; getpid; a call that fails.
  const std::vector<RemoteCall> calls = {
      {SYS_getpid, {}, then},
      {SYS_dup, {{Kind::number, 1, {}}}, then},
      {SYS_dup2, {{Kind::from_result, 1, {}}, {Kind::number, 200, {}}}, then},
      {SYS_close, {{Kind::from_result, 1, {}}}, then},
      {SYS_close, {{Kind::from_result, 2, {}}}, then},
      {SYS_close, {{Kind::number, UINT64_MAX, {}}}, then},
  };
  const auto report = run_remote_calls(target.process(), calls, true, [&]() -> Status {
    before = true;
    for (const pid_t tid : list_threads(target.pid())) {
      const auto status = read_status(tid);
      if (!status || status->state != 't') return fail(ErrorKind::not_possible, "not stopped");
    }
    return {};
  });
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_TRUE(before);
  EXPECT_EQ(report->stop.threads, 17U);
  ASSERT_EQ(report->results.size(), 6U);
  EXPECT_EQ(report->results, seen);
  EXPECT_EQ(report->results[0], target.pid());
  EXPECT_EQ(report->results[2], 200);
  EXPECT_EQ(report->results[3], 0);
  EXPECT_EQ(report->results[4], 0);
  EXPECT_EQ(report->results[5], -EBADF);
  // An error of `before` changes nothing.
  const auto refused = run_remote_calls(target.process(), calls, true,
                                        [] { return fail(ErrorKind::usage, "not today"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "not today");
  EXPECT_EQ(run_remote_calls(target.process(), {}).error().kind, ErrorKind::usage);
  EXPECT_TRUE(target.healthy());
  EXPECT_TRUE(target.ends_well());
}

TEST(RemoteCalls, AStubLeftByADeadTracerIsOverwritten) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  const auto maps = target.process().maps();
  ASSERT_TRUE(maps);
  const auto places = find_padding(target.process(), *maps, 512);
  ASSERT_TRUE(places) << to_string(places.error());
  const std::vector<RemoteCall> old = {
      {SYS_openat, {{Kind::number, 0, {}}, {Kind::text, 0, std::string(200, 'x')}}, {}}};
  // In every place, so that it must be used whatever is chosen.
  for (const Padding& place : *places) {
    const auto stub = assemble_stub(old, place.address, Registers{});
    ASSERT_TRUE(stub);
    ASSERT_TRUE(write_memory(target.process(), place.address, *stub));
  }
  EXPECT_FALSE(padding_clean(target.process()));
  const std::vector<RemoteCall> calls = {{SYS_getpid, {}, {}}};
  const auto report = run_remote_calls(target.process(), calls);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->results[0], target.pid());
  EXPECT_EQ(report->stop.threads, 17U);  // all were stopped, to see that none was in it
  const auto again = find_padding(target.process(), *maps, 512);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->front().leftover, 0U);
  EXPECT_EQ(again->front().address, places->front().address);
  EXPECT_TRUE(target.healthy());
}

TEST(RemoteCalls, FloodOfSignalsIsNotLost) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  constexpr int kCount = 3000;
  const CodeFile file;
  std::thread sender([&] {
    for (int i = 1; i <= kCount; ++i) {
      while (::sigqueue(target.pid(), SIGRTMIN, sigval{i}) != 0)
        ::usleep(100);  // the queue is full
      if (i % 8 == 0) ::usleep(50);
    }
  });
  int mapped = 0;
  bool toggle = false;
  for (int i = 0; i < 60; ++i) {
    // The thread that takes the signals is the leader, which is the one that is borrowed.
    const uint64_t gap = target.gap();
    const auto report = map_code(target.process(), file, gap, 4096);
    if (report) {
      ++mapped;
    } else {
      EXPECT_THAT(to_string(report.error()), HasSubstr("can be borrowed now"));
    }
    const std::array patches = {toggle ? target.two_to_one() : target.one_to_two()};
    ASSERT_TRUE(apply_patches(target.process(), patches));
    toggle = !toggle;
  }
  sender.join();
  EXPECT_GT(mapped, 0);
  ASSERT_TRUE(target.healthy());
  const std::string expected = fmt::format("signals {} {}", kCount, kCount * (kCount + 1) / 2);
  std::string line;
  EXPECT_TRUE(eventually([&] {
    target.program().write_line("signals");
    line = target.program().read_line();
    return line == expected;
  })) << line
      << ", expected " << expected;
  EXPECT_TRUE(target.ends_well());
}

}  // namespace
}  // namespace jitscope
