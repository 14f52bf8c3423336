// WorkSince: how much CPU time a process has used since it was looked at last. What has not run has
// compiled nothing, and one system call tells; so a process that sleeps need not be read.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace jitscope {

// Of all threads of a process, in nanoseconds; nothing when it is gone. What a thread has used
// since the last clock tick without having slept may be missing. Needs no rights.
[[nodiscard]] std::optional<uint64_t> cpu_time_of(pid_t pid);

class WorkSince {
 public:
  // Less work than this, however cheap a look is, is that of a program that waits: a compiler needs
  // as much for a few small methods.
  static constexpr uint64_t kLeast = 2'000'000;
  // A program that does little is looked at for at most one part of so many of what it uses itself.
  static constexpr uint64_t kParts = 8;
  // After so much it is looked at, however dear the last look was: that one may have found much.
  static constexpr uint64_t kMost = 40'000'000;

  // A look began when the process had used `total`.
  void looked(std::optional<uint64_t> total) { looked_ = total; }
  // Since then; nothing where it cannot be told.
  [[nodiscard]] std::optional<uint64_t> used(std::optional<uint64_t> total) const {
    if (!total || !looked_ || *total < *looked_) return std::nullopt;
    return *total - *looked_;
  }
  // Whether a look that costs `cost` nanoseconds of CPU time may find something. True where it
  // cannot be told.
  [[nodiscard]] bool worth(std::optional<uint64_t> total, uint64_t cost) const {
    const auto work = used(total);
    return !work || *work / kParts >= std::clamp(cost, kLeast / kParts, kMost / kParts);
  }

 private:
  std::optional<uint64_t> looked_;
};

}  // namespace jitscope
