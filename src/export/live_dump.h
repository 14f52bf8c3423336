// LiveDump: a standard jitdump of a live process, written from outside: LOAD, DEBUG_INFO and
// UNWINDING_INFO for every body, for perf inject --jit and everything else that takes jitdumps.
//
// perf finds a dump by an executable mapping of a file called jit-PID.dump in process PID. The
// target is not touched, so the mapping is made in this process: the file is called after it, and a
// recording that has this process in it (perf record -a, or -p TARGET,THIS) finds the dump; each
// LOAD names the target. jitscope takes it by --jitdump in any case.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "capture/followed_process.h"

namespace jitscope {

// What to do about a process that nothing names but its own jitdump: the error says so then.
[[nodiscard]] Error with_own_jitdump(Error error, const Process& process);

class LiveDump {
 public:
  // `path`: must not exist. `whole_life`: what is there now counts from the process's start on (a
  // snapshot for a recording that was made before); else from now on.
  static Result<LiveDump> create(pid_t pid, std::string path, const SourceOptions& source,
                                 bool whole_life, DumpForm form = DumpForm::standard);
  LiveDump(LiveDump&&) noexcept;
  LiveDump& operator=(LiveDump&&) noexcept;
  ~LiveDump();

  // Writes down what is new. Errors: not_found (no JIT code), not_possible (nothing names it, or
  // the process writes a jitdump itself), target_gone. A process that has only begun is asked
  // again.
  Status look();
  [[nodiscard]] bool ended() const;
  void finish();
  [[nodiscard]] FollowedSummary summary() const { return process_->summary(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  // The mapping that perf looks for is there.
  [[nodiscard]] bool marked() const { return marker_ != nullptr; }

 private:
  LiveDump() = default;
  void mark();
  std::string path_;
  std::string root_;  // in front of the paths that the process names
  std::unique_ptr<FollowedProcess> process_;
  void* marker_ = nullptr;
  size_t marker_bytes_ = 0;
};

}  // namespace jitscope
