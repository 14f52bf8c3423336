// Undo: takes back what a dead jitscope left in a process, from the live images that the process
// has mapped. It needs nothing but the process: the images' own tables say which entries lead into
// them and what lay there before.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "process/process.h"

namespace jitscope {

struct UndoReport {
  size_t images = 0;      // live images found in the mappings
  size_t in_use = 0;      // of those, left alone: a living jitscope holds them
  size_t unreadable = 0;  // of those, left alone: the notes say why
  size_t entries_restored = 0;
  size_t entries_not_ours = 0;  // records whose entry holds something else now: nothing to do
  size_t files_removed = 0;
  size_t files_in_use = 0;  // left alone
  std::chrono::nanoseconds stopped{0};
  std::vector<std::string> notes;

  [[nodiscard]] bool complete() const { return in_use + unreadable + files_in_use == 0; }
};

// An image that a living jitscope works with (it holds a lock on the file) is left alone unless
// `even_in_use`.
Result<UndoReport> undo_all(const Process& process, bool even_in_use = false);

// The command line for it, and what is said where a command ends and leaves jumps in a target.
[[nodiscard]] std::string undo_command(pid_t pid);
[[nodiscard]] std::string left_text(size_t entries, pid_t pid);

}  // namespace jitscope
