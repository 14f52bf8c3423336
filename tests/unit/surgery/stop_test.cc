// Stopping processes of every kind: what may go wrong while threads are seized, and what must be as
// it was afterwards.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "process/sharers.h"
#include "surgery/ptrace_thread.h"
#include "surgery/thread_stop.h"
#include "unit/surgery/surgery_target.h"

namespace jitscope {
namespace {

using ::testing::HasSubstr;

class Oddity {
 public:
  explicit Oddity(const std::string& mode, const std::string& more = "0")
      : program_(TargetProgram::path_of("oddities"), {mode, more}) {
    ready_ = program_.read_line() == "ready";
    auto process = Process::open(program_.pid());
    if (process) process_ = std::make_unique<Process>(std::move(*process));
  }
  [[nodiscard]] bool ok() const { return ready_ && process_ != nullptr; }
  [[nodiscard]] const Process& process() const { return *process_; }
  [[nodiscard]] TargetProgram& program() { return program_; }
  [[nodiscard]] pid_t pid() const { return program_.pid(); }
  // It answers; what it counted.
  bool answers(unsigned long& count, unsigned long& wrong) {
    program_.write_line("");
    const std::string line = program_.read_line();
    return std::sscanf(line.c_str(), "alive %lu %lu", &count, &wrong) == 2;
  }
  bool answers() {
    unsigned long count = 0;
    unsigned long wrong = 0;
    return answers(count, wrong);
  }
  [[nodiscard]] uint64_t gap() const {
    const auto maps = process_->maps();
    if (!maps || maps->empty()) return 0;
    return find_gap_near(*maps, maps->front().start, maps->front().end, 4096);
  }

 private:
  TargetProgram program_;
  bool ready_ = false;
  std::unique_ptr<Process> process_;
};

// Stops all threads, and calls `inside` while they are.
Result<unsigned> stop_once(const Process& process, const std::function<void()>& inside = {},
                           std::chrono::milliseconds timeout = std::chrono::seconds(5)) {
  Result<unsigned> count = 0;
  as_tracer(process.pid(), [&] {
    auto stop = ThreadStop::all(process, timeout);
    if (!stop) {
      count = fail(std::move(stop.error()));
      return;
    }
    if (inside) inside();
    count = static_cast<unsigned>(stop->threads().size());
  });
  return count;
}

char state_of(pid_t pid) {
  const auto status = read_status(pid);
  return status ? status->state : '-';
}

TEST(ThreadStop, HoldsEveryThreadAndLetsAllGo) {
  SelfCheckTarget target(300);
  JITSCOPE_REQUIRE_TARGET(target);
  for (int i = 0; i < 5; ++i) {
    const auto count = stop_once(target.process(), [&] {
      for (const pid_t tid : list_threads(target.pid())) ASSERT_EQ(state_of(tid), 't') << tid;
    });
    ASSERT_TRUE(count) << to_string(count.error());
    EXPECT_EQ(*count, 317U);
    ASSERT_TRUE(target.healthy());
  }
  EXPECT_TRUE(target.ends_well());
}

TEST(ThreadStop, ATracerThatEndsWithoutAWordLetsAllGo) {
  Oddity target("execer");  // at once with nothing left to execute: threads in pause() and read()
  ASSERT_TRUE(target.ok());
  as_tracer(target.pid(), [&] {
    for (const pid_t tid : list_threads(target.pid())) {
      ASSERT_EQ(::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr), 0);
      ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr), 0);
    }
  });
  EXPECT_TRUE(runs_freely(target.pid()));
  EXPECT_TRUE(target.answers());
}

TEST(ThreadStop, BlocksSignalsOfTheCallerAndGivesThemBack) {
  sigset_t before;
  sigset_t inside;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  as_tracer(::getpid(), [&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &inside); });
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&inside, SIGINT), 1);
  EXPECT_EQ(::sigismember(&after, SIGINT), ::sigismember(&before, SIGINT));
}

TEST(ThreadStop, AStoppedProcessStaysStopped) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  ASSERT_EQ(::kill(target.pid(), SIGSTOP), 0);
  ASSERT_TRUE(eventually([&] { return state_of(target.pid()) == 'T'; }));
  const CodeFile file;
  const auto mapped = map_code(target.process(), file, target.gap(), 4096);
  EXPECT_TRUE(mapped) << to_string(mapped.error());
  const std::array patches = {target.one_to_two()};
  const auto patched = apply_patches(target.process(), patches);
  ASSERT_TRUE(patched) << to_string(patched.error());
  EXPECT_EQ(patched->outcomes[0], PatchOutcome::applied);
  for (const pid_t tid : list_threads(target.pid())) {
    EXPECT_TRUE(eventually([&] { return state_of(tid) == 'T'; })) << tid << state_of(tid);
  }
  ASSERT_EQ(::kill(target.pid(), SIGCONT), 0);
  EXPECT_TRUE(target.healthy());
  EXPECT_TRUE(target.ends_well());
}

TEST(ThreadStop, AnotherTracerIsNamed) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    ::prctl(PR_SET_NAME, "othertracer");
    const bool held = ::ptrace(PTRACE_SEIZE, target.pid(), nullptr, nullptr) == 0;
    (void)!::write(ends[1], held ? "y" : "n", 1);
    while (true) ::pause();
  }
  char held = 0;
  ASSERT_EQ(::read(ends[0], &held, 1), 1);
  ASSERT_EQ(held, 'y');
  const std::array patches = {target.one_to_two()};
  const auto patched = apply_patches(target.process(), patches);
  const CodeFile file;
  const auto mapped = map_code(target.process(), file, target.gap(), 4096);
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_FALSE(patched);
  EXPECT_EQ(patched.error().kind, ErrorKind::not_permitted);
  EXPECT_THAT(patched.error().what,
              HasSubstr(fmt::format("traced by process {} (othertracer)", tracer)));
  ASSERT_FALSE(mapped);
  EXPECT_EQ(mapped.error().kind, ErrorKind::not_permitted);
  EXPECT_TRUE(target.healthy());
  EXPECT_TRUE(apply_patches(target.process(), patches));
}

TEST(ThreadStop, KernelThreadsAreRefused) {
  const auto process = Process::open(2);
  if (!process || process->command_line() != "[kthreadd]")
    GTEST_SKIP() << "pid 2 is not kthreadd here";
  const std::array patches = {Patch{0x10000, Bytes(5), Bytes(5), {}, 0, false}};
  const auto result = apply_patches(*process, patches);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::not_possible);
  EXPECT_THAT(result.error().what, HasSubstr("kernel thread"));
}

TEST(ThreadStop, UninterruptibleSleepIsAnErrorAndLeavesNothing) {
  Oddity target("vfork");
  ASSERT_TRUE(target.ok());
  const auto sleeper = [&]() -> pid_t {
    for (const pid_t tid : list_threads(target.pid())) {
      if (state_of(tid) == 'D') return tid;
    }
    return 0;
  };
  ASSERT_TRUE(eventually([&] { return sleeper() != 0; }));
  const auto count = stop_once(target.process(), {}, std::chrono::milliseconds(100));
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().kind, ErrorKind::not_possible);
  EXPECT_THAT(count.error().what, HasSubstr(fmt::format("thread {}", sleeper())));
  EXPECT_THAT(count.error().what, HasSubstr("uninterruptible"));
  EXPECT_TRUE(runs_freely(target.pid()));
  EXPECT_TRUE(target.answers());
  // A mapping needs one thread only.
  const CodeFile file;
  const auto mapped = map_code(target.process(), file, target.gap(), 4096);
  EXPECT_TRUE(mapped) << to_string(mapped.error());
  EXPECT_TRUE(target.answers());
}

TEST(ThreadStop, TheOthersRunOnWhileOneSleeps) {
  Oddity target("vfork");
  ASSERT_TRUE(target.ok());
  ASSERT_TRUE(eventually([&] {
    const auto tids = list_threads(target.pid());
    return std::ranges::any_of(tids, [](pid_t tid) { return state_of(tid) == 'D'; });
  }));
  std::atomic<bool> over = false;
  Result<unsigned> count = 0U;
  std::thread stopper([&] {
    count = stop_once(target.process(), {}, std::chrono::seconds(10));
    over = true;
  });
  // It is being stopped: the sleeper has a tracer.
  EXPECT_TRUE(eventually([&] {
    const auto tids = list_threads(target.pid());
    return std::ranges::any_of(tids, [](pid_t tid) {
      const auto status = read_status(tid);
      return status && status->state == 'D' && status->tracer_pid != 0;
    });
  }));
  bool meanwhile = true;
  for (int i = 0; i < 100; ++i) meanwhile = target.answers() && !over && meanwhile;
  EXPECT_TRUE(meanwhile);
  const pid_t child = [&]() -> pid_t {
    for (const pid_t tid : list_threads(target.pid())) {
      if (const pid_t found = vfork_child(target.pid(), tid); found != 0) return found;
    }
    return 0;
  }();
  EXPECT_THAT(sharers(target.process()), testing::ElementsAre(child));
  // As soon as it wakes up all are stopped.
  ASSERT_NE(child, 0);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  stopper.join();
  ASSERT_TRUE(count) << to_string(count.error());
  EXPECT_GE(*count, 1U);
  EXPECT_TRUE(eventually([&] { return runs_freely(target.pid()); }));
  EXPECT_TRUE(target.answers());
  EXPECT_TRUE(sharers(target.process()).empty());
}

TEST(ThreadStop, ALeaderThatHasExitedIsNoHindrance) {
  Oddity target("zombie-leader");
  ASSERT_TRUE(target.ok());
  ASSERT_TRUE(eventually([&] { return state_of(target.pid()) == 'Z'; }));
  const auto process = Process::open(target.pid());
  ASSERT_TRUE(process) << to_string(process.error());
  EXPECT_TRUE(process->alive());
  EXPECT_TRUE(process->check_same());
  EXPECT_THAT(process->executable(), HasSubstr("oddities"));
  EXPECT_THAT(process->command_line(), HasSubstr("zombie-leader"));
  const auto maps = process->maps();
  ASSERT_TRUE(maps);
  ASSERT_FALSE(maps->empty());
  std::array<std::byte, 4> magic{};
  ASSERT_TRUE(process->memory().read(maps->front().start, magic));
  EXPECT_EQ(magic[1], std::byte{'E'});
  const auto count = stop_once(*process);
  ASSERT_TRUE(count) << to_string(count.error());
  EXPECT_EQ(*count, 1U);
  const CodeFile file;
  const uint64_t gap = find_gap_near(*maps, maps->front().start, maps->front().end, 4096);
  const auto mapped = map_code(*process, file, gap, 4096);
  EXPECT_TRUE(mapped) << to_string(mapped.error());
  const auto filled = map_memfd(*process, "jitscope-zombie", {gap + 4096 * 16, 4096, 0, {}},
                                [](UniqueFd fd) { return fill_with_returns(fd, 4096); });
  EXPECT_TRUE(filled) << to_string(filled.error());
  EXPECT_TRUE(target.answers());
}

TEST(ThreadStop, ForksAreNotHarmed) {
  Oddity target("forker");
  ASSERT_TRUE(target.ok());
  const CodeFile file;
  for (int i = 0; i < 100; ++i) {
    const auto count = stop_once(target.process());
    ASSERT_TRUE(count) << to_string(count.error());
    if (i % 10 == 0) {
      const auto mapped = map_code(target.process(), file, target.gap(), 4096);
      ASSERT_TRUE(mapped) << to_string(mapped.error());
    }
  }
  unsigned long count = 0;
  unsigned long wrong = 1;
  ASSERT_TRUE(target.answers(count, wrong));
  EXPECT_EQ(wrong, 0U);
  EXPECT_TRUE(
      eventually([&, first = count] { return target.answers(count, wrong) && count > first; }));
}

TEST(ThreadStop, ThreadsThatComeAndGo) {
  Oddity target("churn");
  ASSERT_TRUE(target.ok());
  for (int i = 0; i < 100; ++i) {
    const auto count = stop_once(target.process(), [&] {
      for (const pid_t tid : list_threads(target.pid())) {
        const char state = state_of(tid);
        ASSERT_TRUE(state == 't' || state == 'Z' || state == 'X' || state == '-') << state;
      }
    });
    ASSERT_TRUE(count) << to_string(count.error());
  }
  unsigned long first = 0;
  unsigned long count = 0;
  unsigned long wrong = 0;
  ASSERT_TRUE(target.answers(first, wrong));
  EXPECT_TRUE(eventually([&] { return target.answers(count, wrong) && count > first; }));
}

TEST(ThreadStop, ExecMeanwhileIsTargetGoneAndTheNewProgramRuns) {
  unsigned stopped = 0;
  unsigned gone = 0;
  for (int round = 0; round < 5; ++round) {
    TargetProgram program(TargetProgram::path_of("oddities"), {"execer", "60"});
    while (true) {
      const auto process = Process::open(program.pid());
      if (!process) break;
      const std::array patches = {Patch{0x10000, Bytes(5), Bytes(5), {}, 0, false}};
      const auto result = apply_patches(*process, patches);
      if (result) {
        ++stopped;
      } else {
        // Also seen: not permitted, as /proc/PID/mem is closed while an exec is under way.
        ASSERT_TRUE(result.error().kind == ErrorKind::target_gone ||
                    result.error().kind == ErrorKind::not_permitted)
            << to_string(result.error());
        ++gone;
      }
      if (process->command_line().ends_with("execer 0")) break;
    }
    ASSERT_EQ(program.read_until("ready"), "ready");
    EXPECT_TRUE(runs_freely(program.pid()));
    program.write_line("");
    EXPECT_THAT(program.read_line(), HasSubstr("alive"));
  }
  EXPECT_GT(stopped + gone, 5U);
}

TEST(ThreadStop, ExitMeanwhileIsTargetGone) {
  unsigned gone = 0;
  for (int round = 0; round < 20; ++round) {
    Oddity target("exiter");
    ASSERT_TRUE(target.ok());
    target.program().write_line("");
    while (true) {
      const std::array patches = {Patch{0x10000, Bytes(5), Bytes(5), {}, 0, false}};
      const auto result = apply_patches(target.process(), patches);
      if (result) continue;
      ASSERT_EQ(result.error().kind, ErrorKind::target_gone) << to_string(result.error());
      ++gone;
      break;
    }
    // Its exit status is still its parent's to take.
    const int status = target.program().wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << std::hex << status;
  }
  EXPECT_EQ(gone, 20U);
}

TEST(ThreadStop, KilledWithinTheStop) {
  for (int round = 0; round < 10; ++round) {
    Oddity target("exiter");
    ASSERT_TRUE(target.ok());
    const auto count = stop_once(target.process(), [&] {
      target.program().kill();
      EXPECT_TRUE(eventually([&] {
        std::byte byte{};
        return ::pread(target.process().memory_fd(), &byte, 1, 0x1000) == 0;
      }));
    });
    EXPECT_TRUE(count);
    const int status = target.program().wait();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << std::hex << status;
  }
}

TEST(ThreadStop, ASeccompFilterIsSetAside) {
  Oddity target("seccomp");
  ASSERT_TRUE(target.ok());
  ASSERT_EQ(target.process().status().seccomp, 2);
  const CodeFile file;
  for (int i = 0; i < 10; ++i) {
    const auto mapped = map_code(target.process(), file, target.gap(), 4096);
    if (!mapped && mapped.error().kind == ErrorKind::not_permitted) {
      EXPECT_THAT(mapped.error().hint, HasSubstr("CAP_SYS_ADMIN"));
      EXPECT_TRUE(target.answers());
      GTEST_SKIP() << to_string(mapped.error());
    }
    ASSERT_TRUE(mapped) << to_string(mapped.error());
    ASSERT_TRUE(target.answers());
  }
  // The filter holds again afterwards.
  const auto status = read_status(target.pid());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->seccomp, 2);
}

TEST(ThreadStop, ASignalEndsTheCallThatItWouldHaveEnded) {
  // pause() ends once for every signal that is handled in it: none may be handled beside it. The
  // kernel itself has a short moment for that, on its way from the restart of a call to the
  // program, whatever made it restart; so a few may be lost, not the many that would come in while
  // the thread is borrowed.
  Oddity target("signals");
  ASSERT_TRUE(target.ok());
  const CodeFile file;
  unsigned long count = 0;
  unsigned long wrong = 0;
  ASSERT_TRUE(eventually([&] { return target.answers(count, wrong); }));
  if (call_of_thread(target.pid(), target.pid()).empty()) {
    GTEST_SKIP() << "/proc/PID/syscall cannot be read here";
  }
  unsigned lost = 0;
  unsigned long last = count;
  const std::string pause_call = fmt::format("{} ", SYS_pause);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(eventually(
        [&] { return call_of_thread(target.pid(), target.pid()).starts_with(pause_call); }));
    // Sent while a surgery is under way; the next only when this one has had its effect.
    std::thread sender([&] {
      ::usleep(static_cast<useconds_t>(i % 40) * 20);
      ::kill(target.pid(), SIGUSR1);
    });
    const auto mapped = map_code(target.process(), file, target.gap(), 4096);
    sender.join();
    ASSERT_TRUE(mapped) << to_string(mapped.error());
    const bool ended =
        eventually([&, last] { return target.answers(count, wrong) && count > last; },
                   std::chrono::seconds(2));
    if (!ended) ++lost;
    last = count;
  }
  EXPECT_LE(lost, 3U);
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace jitscope
