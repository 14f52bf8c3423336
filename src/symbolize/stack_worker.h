// StackWorker: a StackNamer in a thread of its own.
//
// Naming reads files and memory of strangers, which may take long or never come back (a file system
// that does not answer). Whoever traces must not wait for it: probes have to be taken away, events
// to be taken out of their ring. So stacks are handed over and asked for later, in the same order.
// A thread that does not come back is left behind; it touches nothing of its maker's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"
#include "symbolize/stack_namer.h"

namespace jitscope {

class StackWorker {
 public:
  static Result<std::unique_ptr<StackWorker>> start(const Process& process);
  // Waits a moment for the thread to end.
  ~StackWorker();
  StackWorker(const StackWorker&) = delete;
  StackWorker& operator=(const StackWorker&) = delete;

  // See StackNamer::walk().
  void add(uint64_t sp, uint64_t fp, std::span<const std::byte> stack);
  // Stacks that are named by now, in the order of add().
  std::vector<Stack> take();
  // How many were added and not taken.
  [[nodiscard]] size_t waiting() const;
  // Since the last stack was named, or handed over to a thread that had nothing to do.
  [[nodiscard]] std::chrono::nanoseconds idle() const;
  // Until something was named or is wanted, at most `time`.
  void wait(std::chrono::milliseconds time);

  // The code bodies are needed anew: answer soon, by update().
  [[nodiscard]] bool wants_bodies() const;
  void update(Result<Snapshot> snapshot);

 private:
  struct State;
  explicit StackWorker(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace jitscope
