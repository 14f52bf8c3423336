// What the commands share that work on a living process for a while.
#pragma once

#include <utility>

#include "base/result.h"
#include "cli/command.h"
#include "probe/patience.h"
#include "process/process.h"

namespace jitscope {

// What was read of a process that became another program is of neither: its error says so.
template <typename T>
Result<T> or_gone(const Process& process, Result<T> result) {
  if (!result) return fail(process.or_gone(std::move(result.error())));
  return result;
}

// Ctrl-C ends waits. While the command leaves, only one that comes after the `asked_until_end` that
// made it end; that number outlives the result.
inline Waiting waiting_until_interrupted(const int& asked_until_end) {
  return {[] { return interrupts() != 0; },
          [&asked_until_end] { return interrupts() > asked_until_end; }, report_wait,
          interrupt_fd()};
}

}  // namespace jitscope
