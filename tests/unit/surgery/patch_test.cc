// apply_patches on a running program.
#include <sys/mman.h>

#include "surgery/ptrace_thread.h"
#include "surgery/thread_stop.h"
#include "unit/surgery/surgery_target.h"

namespace jitscope {
namespace {

using ::testing::HasSubstr;

uint64_t first_bytes(const Process& process, uint64_t address) {
  uint64_t value = 0;
  (void)process.memory().read(address, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

TEST(ApplyPatches, TogglesAHotFunctionUnderLoad) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  unsigned restarted = 0;
  for (int i = 0; i < 200; ++i) {
    const std::array patches = {i % 2 == 0 ? target.one_to_two() : target.two_to_one(),
                                i % 2 == 0 ? target.small_to_large() : target.large_to_small()};
    const auto report = apply_patches(target.process(), patches);
    ASSERT_TRUE(report) << to_string(report.error());
    ASSERT_EQ(report->outcomes[0], PatchOutcome::applied);
    ASSERT_EQ(report->outcomes[1], PatchOutcome::applied);
    ASSERT_EQ(report->stop.threads, 17U);
    ASSERT_GT(report->stop.stopped.count(), 0);
    restarted += report->stop.restarted_calls;
    if (i % 20 == 0) {
      ASSERT_TRUE(target.healthy());
    }
  }
  // Several of its threads are nearly always in calls that need the repair.
  EXPECT_GT(restarted, 200U);
  EXPECT_TRUE(target.healthy());
  EXPECT_TRUE(target.ends_well());
}

TEST(ApplyPatches, RefusesWhatIsNotAsExpected) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  const uint64_t before = first_bytes(target.process(), target.two());
  Patch wrong_bytes = target.small_to_large();
  wrong_bytes.expected[7] = std::byte{0xcc};
  Patch wrong_guard = target.one_to_two();
  wrong_guard.guards = {{target.two(), bytes_of({0x31, 0xc0})}, {target.two() + 2, bytes_of({0})}};
  const std::array refused = {wrong_bytes, wrong_guard};
  auto report = apply_patches(target.process(), refused);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->outcomes[0], PatchOutcome::refused_bytes);
  EXPECT_EQ(report->outcomes[1], PatchOutcome::refused_guard);
  EXPECT_EQ(first_bytes(target.process(), target.two()), before);
  // A guard on memory that is not there; the other patch is applied.
  Patch no_memory = target.one_to_two();
  no_memory.guards = {{0x10, bytes_of({0})}};
  const std::array mixed = {no_memory, target.small_to_large()};
  report = apply_patches(target.process(), mixed);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcomes[0], PatchOutcome::refused_guard);
  EXPECT_EQ(report->outcomes[1], PatchOutcome::applied);
  EXPECT_EQ(report->failure, "");
  EXPECT_TRUE(target.healthy());
}

TEST(ApplyPatches, RollsBackWhenAWriteFails) {
  // Shared and read-only memory cannot be written, neither way: the mapped file of another program.
  const CodeFile file;
  TargetProgram reader("python3",
                       {"-c",
                        "import mmap,sys,ctypes\n"
                        "f=open('" +
                            file.path() +
                            "','rb')\n"
                            "m=mmap.mmap(f.fileno(),4096,mmap.MAP_SHARED,mmap.PROT_READ)\n"
                            "b=ctypes.create_string_buffer(b'A'*64)\n"
                            "print(hex(ctypes.addressof(b)),flush=True)\n"
                            "sys.stdin.readline()\n"});
  const std::string line = reader.read_line();
  if (line.empty()) GTEST_SKIP() << "python3 is not installed";
  const uint64_t buffer = std::stoull(line, nullptr, 16);
  const auto process = Process::open(reader.pid());
  ASSERT_TRUE(process);
  const auto maps = process->maps();
  ASSERT_TRUE(maps);
  uint64_t shared = 0;
  for (const Mapping& mapping : *maps) {
    if (mapping.path == file.path()) shared = mapping.start;
  }
  ASSERT_NE(shared, 0U);
  const Bytes letters(16, std::byte{'A'});
  const Bytes code(16, std::byte{0xc3});
  const Bytes other(8, std::byte{'B'});
  const std::array patches = {Patch{buffer, letters, other, {}, 0, false},
                              Patch{shared, code, other, {}, 0, false},
                              Patch{buffer + 32, letters, other, {}, 0, false}};
  const auto report = apply_patches(*process, patches);
  ASSERT_TRUE(report) << to_string(report.error());
  for (const PatchOutcome outcome : report->outcomes) EXPECT_EQ(outcome, PatchOutcome::rolled_back);
  EXPECT_THAT(report->failure, HasSubstr("patch 1"));
  EXPECT_EQ(first_bytes(*process, buffer), 0x4141414141414141U);
  EXPECT_EQ(first_bytes(*process, buffer + 32), 0x4141414141414141U);
  EXPECT_TRUE(runs_freely(reader.pid()));
}

TEST(ApplyPatches, AThreadThatStaysInsideIsRefusedAfterTheRetries) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  // The instruction of a thread that waits in a system call: found from its own kernel state.
  std::string text;
  for (const pid_t tid : list_threads(target.pid())) {
    const std::string call = call_of_thread(target.pid(), tid);
    if (call.starts_with("0 0x0 ")) text = call;  // read(0, ...)
  }
  if (text.empty()) GTEST_SKIP() << "/proc/PID/syscall is not there";
  const uint64_t after = std::stoull(text.substr(text.rfind(' ')), nullptr, 16);
  Bytes there(4);
  ASSERT_TRUE(target.process().memory().read(after - 4, there));
  const std::array patches = {Patch{after - 4, there, there, {}, 4, false}, target.one_to_two()};
  StopOptions options;
  options.retries = 3;
  const auto report = apply_patches(target.process(), patches, options);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->outcomes[0], PatchOutcome::refused_thread);
  EXPECT_EQ(report->outcomes[1], PatchOutcome::applied);
  EXPECT_EQ(report->stop.stops, 4U);
  // Its return address lies on the stack: the scan finds that, too.
  EXPECT_TRUE(target.healthy());
}

TEST(ApplyPatches, RefusesUnsafeRequests) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  const std::array crossing = {Patch{0x10ffd, Bytes(5), Bytes(5), {}, 0, false}};
  EXPECT_EQ(apply_patches(target.process(), crossing).error().kind, ErrorKind::not_possible);
  const std::array overlap = {target.one_to_two(), target.two_to_one()};
  EXPECT_EQ(apply_patches(target.process(), overlap).error().kind, ErrorKind::usage);
  const std::array unexpected = {Patch{target.one(), Bytes(4), Bytes(5), {}, 0, false}};
  EXPECT_EQ(apply_patches(target.process(), unexpected).error().kind, ErrorKind::usage);
  const auto self = Process::open(::getpid());
  ASSERT_TRUE(self);
  const std::array ours = {target.one_to_two()};
  EXPECT_EQ(apply_patches(*self, ours).error().kind, ErrorKind::not_possible);
}

TEST(WriteMemory, WritesReadOnlyPagesAndNoticesTheEnd) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  const Bytes two = bytes_of({0xb8, 2, 0, 0, 0});
  ASSERT_TRUE(write_memory(target.process(), target.one(), two));
  EXPECT_EQ(first_bytes(target.process(), target.one()) & 0xffffffffffU, 0x00000002b8U);
  const auto nowhere = write_memory(target.process(), 0x10000, two);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::not_possible);
  EXPECT_TRUE(target.ends_well());
  target.program().wait();
  const auto gone = write_memory(target.process(), target.one(), two);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::target_gone);
  const std::array patches = {target.one_to_two()};
  EXPECT_EQ(apply_patches(target.process(), patches).error().kind, ErrorKind::target_gone);
}

}  // namespace
}  // namespace jitscope
