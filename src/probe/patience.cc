#include "probe/patience.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <thread>
#include <utility>

#include "process/sharers.h"
#include "surgery/thread_stop.h"

namespace jitscope {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr unsigned most_late = 5;
constexpr milliseconds pause_when_late{50};
constexpr milliseconds longest_pause{20};
constexpr milliseconds worth_telling{1000};

// At random, so that two who met do not meet again.
microseconds pause_after(unsigned tries) {
  static std::minstd_rand random(std::random_device{}());
  const auto most =
      std::min<int64_t>(int64_t{500} << std::min(tries, 10U), microseconds(longest_pause).count());
  return microseconds(most / 4 + static_cast<int64_t>(random() % static_cast<uint64_t>(most)));
}

Error shared(const Process& process, pid_t other) {
  const auto status = read_status(other);
  return Error{ErrorKind::not_possible,
               fmt::format("process {}{} has the same memory as process {}, and would run what is "
                           "being changed",
                           other, status ? fmt::format(" ({})", status->name) : "", process.pid()),
               fmt::format("pid {}", process.pid()),
               "one of them is the other's child by vfork, until that executes a program, or by "
               "clone with CLONE_VM; nothing was changed: try again, or use "
               "`jitscope trace --backend breakpoint`, which changes nothing",
               0};
}

}  // namespace

bool held_by_tracer(const Error& error) {
  return error.kind == ErrorKind::not_permitted && error.system_errno == EBUSY;
}

Status wait_until_free(const Process& process, const Patience& patience) {
  Retries retries(patience);
  while (true) {
    Status status = check_untraced(process);
    if (status || !retries.wait(status.error())) return status;
  }
}

Status wait_until_alone(const Process& process, const Patience& patience) {
  std::vector<pid_t> others = sharers(process);
  if (others.empty()) return {};
  const auto began = Clock::now();
  bool told = false;
  while (true) {
    Error error = shared(process, others.front());
    const auto waited = Clock::now() - began;
    if (waited >= patience.for_tracer || (patience.hurry && patience.hurry())) {
      return fail(std::move(error));
    }
    if (!told && waited >= worth_telling && patience.on_wait) {
      told = true;
      patience.on_wait(error);
    }
    std::this_thread::sleep_for(longest_pause);
    JITSCOPE_TRY(process.check_same());
    // One that has a vfork child all the time has another one each time.
    const std::vector<pid_t> now = sharers(process);
    std::erase_if(others, [&](pid_t pid) { return !std::ranges::binary_search(now, pid); });
    if (others.empty()) return {};
  }
}

bool Retries::wait(const Error& error) {
  if (patience_.hurry && patience_.hurry()) return false;
  if (held_by_tracer(error)) return wait_for_tracer(error);
  if (error.system_errno != ETIMEDOUT || ++late_ > most_late) return false;
  // Each try may take a second: nobody shall wonder what is waited for.
  if (late_ == 2) tell(error);
  std::this_thread::sleep_for(pause_when_late);
  return true;
}

void Retries::tell(const Error& error) {
  if (!std::exchange(told_, true) && patience_.on_wait) patience_.on_wait(error);
}

bool Retries::wait_for_tracer(const Error& error) {
  const auto now = Clock::now();
  if (tries_ == 0) began_ = now;
  if (now - began_ >= patience_.for_tracer) return false;
  if (now - began_ >= worth_telling) tell(error);
  std::this_thread::sleep_for(pause_after(tries_++));
  return true;
}

}  // namespace jitscope
