// Recording: samples of running programs into a perf.data file, and the names of their JIT code
// into a folder beside it (OUTPUT.jit/, see capture/follower.h).
//
// An earlier file of that name becomes OUTPUT.old, as perf does it, with its folder. A recording
// that is killed leaves a file that perf and jitscope read up to its last half second.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/follower.h"
#include "sampling/perf_sampler.h"

namespace jitscope {

struct RecordProgress {
  uint64_t elapsed_ns = 0;
  uint64_t samples = 0;
  uint64_t lost = 0;
  uint64_t bytes = 0;
  size_t followed = 0;  // processes
};

struct RecordStart {
  std::string event;   // "cpu-clock"
  std::string reason;  // why not cycles
  uint64_t frequency = 0;
  bool kernel = true;
  size_t threads = 0;  // that are sampled (0: all CPUs, or a command)
  size_t ring_bytes = 0;
  std::vector<std::string> notes;
};

struct RecordOptions {
  std::string output = "perf.data";
  // A command alone is recorded; beside a process or the system it says how long.
  bool system = false;
  std::vector<pid_t> processes;
  std::vector<std::string> command;
  SamplerOptions sampler;
  double seconds = 0;  // 0: until stopped, or until the processes have ended
  bool follow = true;
  bool force = false;                     // read perf maps of foreign ownership
  std::vector<std::string> command_line;  // kept in the file
  std::string version;
  // True ends the recording. Asked at least ten times a second.
  std::function<bool()> stop;
  std::function<void(const RecordStart&)> on_start;
  std::function<void(const RecordProgress&)> on_progress;

  [[nodiscard]] bool records_command() const {
    return !command.empty() && processes.empty() && !system;
  }
};

struct RecordResult {
  uint64_t samples = 0;
  uint64_t lost = 0;  // records that found no room in a ring
  uint64_t bytes = 0;
  uint64_t elapsed_ns = 0;
  uint64_t cpu_ns = 0;  // of the recorder itself, without the follower
  std::string output;
  std::string folder;  // "" when nothing was written down
  FollowReport follow;
  std::optional<int> command_status;  // as of wait(2); nothing when it runs on
  bool command_told = false;          // to end, with SIGTERM
  std::vector<std::string> notes;
};

Result<RecordResult> record(const RecordOptions& options);

}  // namespace jitscope
