// The tracer is killed in the midst of surgery, at random and at chosen moments: the target must
// run on, every thread of it, with nothing wrong; and the next surgery must work.
#include <sys/syscall.h>

#include <cstring>
#include <random>

#include "surgery/padding.h"
#include "unit/surgery/surgery_target.h"

namespace jitscope {
namespace {

// Runs `body` in a child and kills it after `after`, unless it ends by itself (then its exit
// status, or -1).
int run_and_kill(const std::function<int()>& body, std::chrono::microseconds after) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  const auto end = std::chrono::steady_clock::now() + after;
  int status = 0;
  while (std::chrono::steady_clock::now() < end) {
    if (::waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ::usleep(20);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Everything that surgery does, without an end.
int operate(const SelfCheckTarget& target, const CodeFile& file) {
  const auto process = Process::open(target.pid());
  if (!process) return 10;
  for (unsigned i = 0;; ++i) {
    const std::array patches = {i % 2 == 0 ? target.one_to_two() : target.two_to_one(),
                                i % 2 == 0 ? target.small_to_large() : target.large_to_small()};
    if (!apply_patches(*process, patches)) return 11;
    if (!map_code(*process, file, target.gap())) return 12;
    if (!map_memfd(*process, "jitscope-kill", {target.gap(), 4096, 0, {}}, {})) return 13;
  }
}

// A stub was left in the target: the kill came while a thread was borrowed.
bool stub_left(const Process& process) {
  const auto maps = process.maps();
  if (!maps) return false;
  const auto places = find_padding(process, *maps, 64);
  return places &&
         std::ranges::any_of(*places, [](const Padding& place) { return place.leftover != 0; });
}

TEST(KilledTracer, AtRandomMoments) {
  SelfCheckTarget target(0, true);
  JITSCOPE_REQUIRE_TARGET(target);
  const CodeFile file;
  std::mt19937 random(20240229);
  unsigned killed = 0;
  unsigned within_stub = 0;
  for (int round = 0; round < 150; ++round) {
    const std::chrono::microseconds after(1500 + random() % 6000);
    const int status = run_and_kill([&] { return operate(target, file); }, after);
    ASSERT_EQ(status, -1) << "the surgery itself failed in round " << round;
    ++killed;
    if (stub_left(target.process())) ++within_stub;
    ASSERT_TRUE(target.healthy()) << "after kill " << round;
  }
  // The patches can be taken off by the next one, whatever the last left.
  const std::array undo = {target.two_to_one(), target.large_to_small()};
  ASSERT_TRUE(apply_patches(target.process(), undo));
  const auto mapped = map_code(target.process(), file, target.gap(), 4096);
  ASSERT_TRUE(mapped) << to_string(mapped.error());
  EXPECT_FALSE(stub_left(target.process()));
  EXPECT_TRUE(target.ends_well());
  std::printf("%u kills, %u of them while a thread was borrowed\n", killed, within_stub);
}

TEST(KilledTracer, AtEveryCallOfTheStub) {
  SelfCheckTarget target;
  JITSCOPE_REQUIRE_TARGET(target);
  constexpr size_t kCalls = 4;
  for (size_t round = 0; round < 10 * (kCalls + 1); ++round) {
    const size_t fatal = round % (kCalls + 1);
    const int status = run_and_kill(
        [&] {
          const auto process = Process::open(target.pid());
          if (!process) return 10;
          const auto die = []() -> Status {
            ::kill(::getpid(), SIGKILL);
            return {};
          };
          std::vector<RemoteCall> calls;
          for (size_t i = 0; i < kCalls; ++i) {
            calls.push_back(
                {SYS_getpid, {}, [=](int64_t) { return i == fatal ? die() : Status{}; }});
          }
          const bool everyone = round % 2 == 0;
          const std::function<Status()> before = [&] { return fatal == kCalls ? die() : Status{}; };
          const auto done = run_remote_calls(*process, calls, everyone, before);
          return done ? 11 : 12;
        },
        std::chrono::seconds(20));
    ASSERT_EQ(status, -1) << "it was to be killed";
    // Killed in the stub it leaves it behind; killed before, nothing.
    if (round == 0) {
      EXPECT_TRUE(stub_left(target.process()));
    }
    ASSERT_TRUE(target.healthy()) << "killed at call " << fatal;
  }
  const std::vector<RemoteCall> calls = {{SYS_getpid, {}, {}}};
  const auto done = run_remote_calls(target.process(), calls);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(done->results[0], target.pid());
  EXPECT_FALSE(stub_left(target.process()));
  EXPECT_TRUE(target.ends_well());
}

TEST(KilledTracer, WhileAllAreStopped) {
  SelfCheckTarget target(50);
  JITSCOPE_REQUIRE_TARGET(target);
  for (int round = 0; round < 10; ++round) {
    const int status = run_and_kill(
        [&] {
          const auto process = Process::open(target.pid());
          const std::vector<RemoteCall> calls = {{SYS_getpid, {}, {}}};
          (void)run_remote_calls(*process, calls, true, []() -> Status {
            ::kill(::getpid(), SIGKILL);
            return {};
          });
          return 10;
        },
        std::chrono::seconds(20));
    ASSERT_EQ(status, -1);
    ASSERT_TRUE(target.healthy());
  }
  EXPECT_TRUE(target.ends_well());
}

}  // namespace
}  // namespace jitscope
