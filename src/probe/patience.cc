#include "probe/patience.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <thread>

#include "process/thread_stop.h"

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

}  // namespace

bool is_held(const Error& error) {
  return error.kind == ErrorKind::not_permitted && error.system_errno == EBUSY;
}

Status wait_until_free(const Process& process, const Patience& patience) {
  Retries retries(patience);
  while (true) {
    Status status = check_untraced(process);
    if (status || !retries.wait(status.error())) return status;
  }
}

bool Retries::wait(const Error& error) {
  if (patience_.hurry && patience_.hurry()) return false;
  if (is_held(error)) return wait_for_tracer(error);
  if (error.system_errno != ETIMEDOUT || ++late_ > most_late) return false;
  std::this_thread::sleep_for(pause_when_late);
  return true;
}

bool Retries::wait_for_tracer(const Error& error) {
  const auto now = Clock::now();
  if (tries_ == 0) began_ = now;
  if (now - began_ >= patience_.for_tracer) return false;
  if (!told_ && now - began_ >= worth_telling && patience_.on_wait) {
    told_ = true;
    patience_.on_wait(error);
  }
  std::this_thread::sleep_for(pause_after(tries_++));
  return true;
}

}  // namespace jitscope
