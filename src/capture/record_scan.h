// What a recorder must know of the records that pass through it: how many samples, what was lost,
// which threads came, and which processes may have got JIT code.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace jitscope {

class RecordScan {
 public:
  struct Watcher {
    // A process mapped code that no ELF file backs, or the library of a runtime. `since`: when it
    // began to run its present program (fork or exec), CLOCK_MONOTONIC; 0: before the recording.
    std::function<void(pid_t, uint64_t since)> on_code;
    // A process called exec.
    std::function<void(pid_t, uint64_t time)> on_exec;
    // An executable mapping of a file.
    std::function<void(pid_t, std::string_view path, uint64_t inode)> on_file;
  };
  explicit RecordScan(Watcher watcher) : watcher_(std::move(watcher)) {}

  // Whole records, whose samples carry IDENTIFIER, IP, TID and TIME (so that the other records end
  // in TID, TIME, CPU and IDENTIFIER).
  void scan(std::string_view records);

  [[nodiscard]] uint64_t samples() const { return samples_; }
  [[nodiscard]] uint64_t lost() const { return lost_; }
  [[nodiscard]] uint64_t first_sample() const { return first_sample_; }
  [[nodiscard]] uint64_t last_sample() const { return last_sample_; }
  // A FORK record was seen: its thread has events by inheritance.
  [[nodiscard]] bool saw_start_of(pid_t tid) const { return started_.contains(tid); }

 private:
  void scan_mapping(std::string_view body);
  void scan_fork(std::string_view body);
  void scan_exec(std::string_view body);
  void scan_exit(std::string_view body);
  void began(pid_t pid, uint64_t time);
  void tell(pid_t pid);

  Watcher watcher_;
  std::unordered_set<pid_t> started_;
  std::unordered_set<pid_t> told_;
  std::unordered_map<pid_t, uint64_t> began_;  // programs that began while recording, and run on
  uint64_t samples_ = 0;
  uint64_t lost_ = 0;
  uint64_t first_sample_ = UINT64_MAX;
  uint64_t last_sample_ = 0;
};

// An executable mapping of that path may hold JIT code, or means that a runtime has come.
[[nodiscard]] bool path_suggests_jit(std::string_view path);

}  // namespace jitscope
