// Process, ProcessMemory and /proc parsing on real children.
#include "process/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <thread>

#include "process/tasks.h"
#include "unit/process/target_program.h"

namespace jitscope {
namespace {

using ::testing::HasSubstr;

TEST(TaskStat, NameMayHoldAnything) {
  const auto stat = parse_task_stat(
      "12 (a) b ( c)) S 1 2 3 4 5 2097152 7 8 9 10 11 12 13 14 15 16 17 18 987654 23 24\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->comm, "a) b ( c)");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->flags, 2097152U);
  EXPECT_EQ(stat->start_ticks, 987654U);
  EXPECT_FALSE(parse_task_stat(""));
  EXPECT_FALSE(parse_task_stat("12 a S 1"));
  EXPECT_FALSE(parse_task_stat(")("));
  EXPECT_FALSE(parse_task_stat("12 (a) S 1 2 3"));
}

TEST(Process, OpensItself) {
  const auto process = Process::open(::getpid());
  ASSERT_TRUE(process) << to_string(process.error());
  EXPECT_EQ(process->pid(), ::getpid());
  EXPECT_EQ(process->status().uid, ::geteuid());
  EXPECT_EQ(process->status().tracer_pid, 0);
  EXPECT_GT(process->status().threads, 0U);
  EXPECT_GT(process->start_ticks(), 0U);
  EXPECT_THAT(process->command_line(), HasSubstr("unit_process"));
  EXPECT_THAT(process->executable(), HasSubstr("unit_process"));
  EXPECT_EQ(process->environment("PATH"), std::getenv("PATH"));
  EXPECT_EQ(process->environment("PAT"), "");
  EXPECT_FALSE(process->other_mount_namespace());
  EXPECT_TRUE(process->alive());
  EXPECT_TRUE(process->check_same());
  EXPECT_EQ(process->path_in_root("/etc"), "/proc/" + std::to_string(::getpid()) + "/root/etc");
}

TEST(Process, NoSuchPid) {
  const auto process = Process::open(0x7ffffff0);
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().kind, ErrorKind::not_found);
  EXPECT_EQ(Process::open(-1).error().kind, ErrorKind::usage);
}

TEST(Process, AThreadIdNamesItsProcess) {
  std::atomic<pid_t> tid = 0;
  std::atomic<bool> stop = false;
  std::thread thread([&] {
    tid = static_cast<pid_t>(::syscall(SYS_gettid));
    while (!stop) ::usleep(1000);
  });
  while (tid == 0) ::usleep(100);
  const auto process = Process::open(tid);
  stop = true;
  thread.join();
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().kind, ErrorKind::usage);
  EXPECT_THAT(process.error().hint, HasSubstr(std::to_string(::getpid())));
}

TEST(Process, NoticesExitAndExec) {
  TargetProgram program("sh", {"-c", "read x; exec sleep 1000"});
  const auto process = Process::open(program.pid());
  ASSERT_TRUE(process) << to_string(process.error());
  ASSERT_TRUE(process->check_same());
  program.write_line("go");
  ASSERT_TRUE(eventually([&] { return !process->check_same(); }));
  EXPECT_EQ(process->check_same().error().kind, ErrorKind::target_gone);
  EXPECT_TRUE(process->alive());
  const auto again = Process::open(program.pid());
  ASSERT_TRUE(again);
  // The kernel shows the new program a moment before its arguments.
  EXPECT_TRUE(eventually([&] { return again->command_line() == "sleep 1000"; }));
  program.kill();
  ASSERT_TRUE(eventually([&] { return !again->alive(); }));
  EXPECT_EQ(again->check_same().error().kind, ErrorKind::target_gone);
}

TEST(Process, NoticesExecOfTheSameProgramWithoutRandomAddresses) {
  TargetProgram program("setarch", {"-R", "sh", "-c", "read x; exec sh -c 'read x'"});
  ASSERT_TRUE(eventually([&] {
    const auto process = Process::open(program.pid());
    return process && process->command_line().starts_with("sh -c read x; exec");
  }));
  const auto process = Process::open(program.pid());
  ASSERT_TRUE(process);
  ASSERT_TRUE(process->check_same());
  program.write_line("go");
  ASSERT_TRUE(eventually([&] { return !process->check_same(); }));
  EXPECT_TRUE(process->alive());
}

TEST(Process, MissingExecutableStillHasAPath) {
  const auto process = Process::open(1);
  if (!process) GTEST_SKIP() << "process 1 cannot be opened: " << to_string(process.error());
  EXPECT_EQ(process->ns_pid(), 1);
}

TEST(Process, ListsProcesses) {
  const auto pids = list_processes();
  EXPECT_TRUE(std::ranges::is_sorted(pids));
  EXPECT_THAT(pids, testing::Contains(::getpid()));
}

TEST(ProcessMemory, ReadsAndRefuses) {
  ProcessMemory memory(::getpid());
  const std::string text = "eleven byte";
  std::string out(text.size(), '\0');
  const auto span = std::as_writable_bytes(std::span(out));
  ASSERT_TRUE(memory.read(reinterpret_cast<uintptr_t>(text.data()), span));
  EXPECT_EQ(out, text);
  const auto bad = memory.read(0x10, span);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::not_possible);
  EXPECT_EQ(ProcessMemory(0x7ffffff0).read(0x1000, span).error().kind, ErrorKind::target_gone);
}

TEST(ProcessMemory, OneBadRangeDoesNotSpoilTheRest) {
  constexpr size_t kCount = 3000;  // three batches
  std::vector<uint64_t> source(kCount);
  std::vector<uint64_t> out(kCount);
  std::vector<MemoryReader::Range> ranges(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    source[i] = i * 3 + 1;
    const bool bad = i % 700 == 5 || i == 0 || i == kCount - 1;
    ranges[i] = {bad ? 0x10 : reinterpret_cast<uintptr_t>(&source[i]),
                 std::as_writable_bytes(std::span(&out[i], 1)), true};
  }
  ranges[100].out = {};  // an empty range is read in full
  ProcessMemory memory(::getpid());
  memory.read_many(ranges);
  for (size_t i = 0; i < kCount; ++i) {
    const bool bad = i % 700 == 5 || i == 0 || i == kCount - 1;
    ASSERT_EQ(ranges[i].ok, !bad) << i;
    ASSERT_EQ(out[i], bad || i == 100 ? 0 : source[i]) << i;
  }
}

TEST(ProcessMemory, ARangeAcrossTheEndOfAMappingIsNotOk) {
  void* pages = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const auto address = reinterpret_cast<uintptr_t>(pages);
  ::munmap(static_cast<char*>(pages) + 4096, 4096);
  ProcessMemory memory(::getpid());
  std::array<std::byte, 64> out{};
  std::array<std::byte, 8> last{};
  std::array<MemoryReader::Range, 2> ranges = {MemoryReader::Range{address + 4096 - 32, out},
                                               MemoryReader::Range{address, last}};
  memory.read_many(ranges);
  EXPECT_FALSE(ranges[0].ok);
  EXPECT_TRUE(ranges[1].ok);
  EXPECT_FALSE(memory.read(address + 4096 - 32, out));
  ::munmap(pages, 4096);
}

TEST(ProcessMemory, AForeignProcessIsNotPermittedAndSaysWhose) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  TargetProgram program("sleep", {"1000"});
  // A child without privileges tries to read it, and hands its message over by a pipe.
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    std::array<std::byte, 8> out{};
    const auto memory = ProcessMemory(program.pid()).read(0x1000, out);
    const auto maps = read_maps(program.pid());
    const auto describe = [](const auto& result) {
      if (result) return std::string("readable");
      return (result.error().kind == ErrorKind::not_permitted ? "refused: " : "other: ") +
             to_string(result.error());
    };
    const std::string text = describe(memory) + "\n" + describe(maps) + "\n";
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  EXPECT_THAT(text, HasSubstr("refused: reading the memory of process"));
  EXPECT_THAT(text, HasSubstr("\nrefused: reading the mappings of process"));
  EXPECT_THAT(text, HasSubstr("it belongs to root (uid 0)"));
}

}  // namespace
}  // namespace jitscope
