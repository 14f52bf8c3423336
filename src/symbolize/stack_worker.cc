#include "symbolize/stack_worker.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/work_limit.h"

namespace jitscope {
namespace {

using std::chrono::milliseconds;

// Bodies are asked for anew when they are so old; sooner where a caller is not known among them,
// but once for a burst of such.
constexpr uint64_t kOldest = 1'000'000'000;
constexpr uint64_t kYoungest = 100'000'000;
// So long an answer is waited for. Without one the bodies known before have to do.
constexpr milliseconds kPatience{2000};
constexpr milliseconds kFarewell{200};

}  // namespace

struct StackWorker::State {
  explicit State(Process opened) : process(std::move(opened)), namer(process) {}

  struct Copy {
    uint64_t sp = 0;
    uint64_t fp = 0;
    std::vector<std::byte> bytes;
  };

  void run();
  Stack name(const Copy& copy);
  void ask_for_bodies();

  // The thread's own.
  Process process;
  StackNamer namer;
  uint64_t bodies_ns = 0;

  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Copy> copies;
  std::vector<Stack> named;
  std::optional<Snapshot> fresh;
  bool wanted = false;
  bool ended = false;
  size_t waiting = 0;
  uint64_t progress_ns = 0;
};

void StackWorker::State::ask_for_bodies() {
  std::unique_lock lock(mutex);
  wanted = true;
  changed.notify_all();
  changed.wait_for(lock, kPatience, [&] { return !wanted || stop; });
  auto snapshot = std::exchange(fresh, std::nullopt);
  lock.unlock();
  if (snapshot) namer.update(*snapshot);
  bodies_ns = monotonic_ns();
}

Stack StackWorker::State::name(const Copy& copy) {
  if (monotonic_ns() - bodies_ns > kOldest) ask_for_bodies();
  Stack stack = namer.walk(copy.sp, copy.fp, copy.bytes);
  // A caller that was compiled after the last look.
  const bool unknown = std::ranges::any_of(
      stack.frames, [](const StackFrame& frame) { return frame.in_jit_memory; });
  if (!unknown || monotonic_ns() - bodies_ns <= kYoungest) return stack;
  ask_for_bodies();
  return namer.walk(copy.sp, copy.fp, copy.bytes);
}

void StackWorker::State::run() {
  const WorkLimit limit{std::chrono::nanoseconds::max(), [this] { return stop.load(); }};
  std::unique_lock lock(mutex);
  while (!stop) {
    if (copies.empty()) {
      changed.wait(lock);
      continue;
    }
    const Copy copy = std::move(copies.front());
    copies.pop_front();
    lock.unlock();
    Stack stack = name(copy);
    lock.lock();
    named.push_back(std::move(stack));
    progress_ns = monotonic_ns();
    changed.notify_all();
  }
  ended = true;
  changed.notify_all();
}

Result<std::unique_ptr<StackWorker>> StackWorker::start(const Process& process) {
  JITSCOPE_ASSIGN(Process own, Process::open(process.pid()));
  if (own.start_ticks() != process.start_ticks()) {
    return fail(ErrorKind::target_gone, "the process has ended");
  }
  auto state = std::make_shared<State>(std::move(own));
  auto thread = start_quiet_thread([state] { state->run(); });
  if (!thread) {
    return fail(ErrorKind::not_possible, "no thread can be started", {},
                "raise the limit of this user's processes (ulimit -u)");
  }
  thread->detach();
  return std::unique_ptr<StackWorker>(new StackWorker(std::move(state)));
}

StackWorker::StackWorker(std::shared_ptr<State> state) : state_(std::move(state)) {}

StackWorker::~StackWorker() {
  std::unique_lock lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kFarewell, [&] { return state_->ended; });
}

void StackWorker::add(uint64_t sp, uint64_t fp, std::span<const std::byte> stack) {
  const std::lock_guard lock(state_->mutex);
  if (state_->waiting++ == 0) state_->progress_ns = monotonic_ns();
  state_->copies.push_back({sp, fp, {stack.begin(), stack.end()}});
  state_->changed.notify_all();
}

std::vector<Stack> StackWorker::take() {
  const std::lock_guard lock(state_->mutex);
  state_->waiting -= state_->named.size();
  return std::exchange(state_->named, {});
}

size_t StackWorker::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waiting;
}

std::chrono::nanoseconds StackWorker::idle() const {
  const std::lock_guard lock(state_->mutex);
  return std::chrono::nanoseconds(monotonic_ns() - state_->progress_ns);
}

void StackWorker::wait(milliseconds time) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, time, [&] { return !state_->named.empty() || state_->wanted; });
}

bool StackWorker::wants_bodies() const {
  const std::lock_guard lock(state_->mutex);
  return state_->wanted;
}

void StackWorker::update(Result<Snapshot> snapshot) {
  const std::lock_guard lock(state_->mutex);
  if (snapshot) state_->fresh = std::move(*snapshot);
  state_->wanted = false;
  state_->changed.notify_all();
}

}  // namespace jitscope
