// Whether stopped threads are in a range of code, or may come back to it: a word near the top of a
// stack that points there may be the return address of a signal handler or of a call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "process/process.h"
#include "surgery/thread_stop.h"

namespace jitscope {

struct CodeRange {  // [begin, end)
  uint64_t begin = 0;
  uint64_t end = 0;
};

// The next instruction of a thread lies in the range.
[[nodiscard]] bool any_thread_at(std::span<const StoppedThread> threads, const CodeRange& range);

// A copy of the first 16 KiB above every thread's stack pointer, taken with as few system calls as
// possible; pages that cannot be read are left out.
class StackScan {
 public:
  StackScan(const Process& process, std::span<const StoppedThread> threads);
  [[nodiscard]] bool points_into(const CodeRange& range) const;

 private:
  std::vector<uint64_t> words_;  // sorted
};

// The same for one range and deeper: up to 64 KiB of every stack (less with very many threads). For
// code that shall never run again, where a frame may lie deeper than the next few returns.
[[nodiscard]] bool any_stack_points_into(const Process& process,
                                         std::span<const StoppedThread> threads,
                                         const CodeRange& range);

}  // namespace jitscope
