// Follower: while a recording runs, learns from outside what the JIT code of running processes is
// called and when it comes and goes, and writes it down as one jitdump file a process:
// FOLDER/jit-PID-STARTTICKS.dump (names: code/recorded_name.h).
//
// How often it looks is set by what looks cost and find: in the long run all of them together take
// 0.4 % of one CPU, and more, at most `cpu_share`, while there is much new code (but for
// the first look at each process; a burst may cost more for a moment: look_pacer.h). A process that
// works is looked at every 20 ms to 2 s; one that does nothing, as its CPU time tells, is only
// asked for that, and looked at every 10 s. One look takes a bounded time, so that a process that
// is made to be slow to read costs its own names and not the others'. Not thread-safe;
// FollowerThread runs one beside the recording.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/back_off.h"
#include "base/result.h"
#include "capture/followed_process.h"
#include "capture/look_pacer.h"

namespace jitscope {

struct FollowOptions {
  std::string folder;                           // is there already
  std::shared_ptr<const UniqueFd> open_folder;  // the same, when it is open
  double cpu_share = 0.05;
  SourceOptions source;  // of perf maps
  uint64_t begin = 0;    // of the recording, CLOCK_MONOTONIC
};

struct FollowReport {
  std::vector<FollowedSummary> processes;
  uint64_t looks = 0;
  uint64_t cpu_ns = 0;        // that the follower used in all,
  uint64_t first_cpu_ns = 0;  // of it for first looks
  uint64_t not_followed = 0;  // processes beyond kMostProcesses
};

// Code of a file that its process moved, as the file would be mapped.
struct CopiedText {
  pid_t pid = 0;
  std::vector<Mapping> mappings;
};

class Follower {
 public:
  static constexpr size_t kMostProcesses = 1024;

  // `stop`: breaks off a look that is under way when it says so.
  explicit Follower(FollowOptions options, std::function<bool()> stop = {})
      : options_(std::move(options)), stop_(std::move(stop)) {}

  // A process that may have JIT code; looked at soon. Asking again makes the next search for a
  // source come soon. `wanted`: it is reported on even when it has none. `since`: its present
  // program runs since then, CLOCK_MONOTONIC (0: not known).
  void add(pid_t pid, bool wanted = false, uint64_t since = 0);
  // Its code from before `time` is gone. Nothing when it is not followed.
  void called_exec(pid_t pid, uint64_t time);
  // Looks at every process whose time has come. When the next one is due, CLOCK_MONOTONIC.
  uint64_t step();
  // A last look at all of them; closes the files.
  FollowReport finish();
  [[nodiscard]] size_t following() const;
  // What was found since the last call.
  [[nodiscard]] std::vector<CopiedText> take_copied_text() { return std::exchange(copied_, {}); }

 private:
  struct Entry {
    Entry(const LookPacer& pace, const BackOff& check) : pacer(pace), checks(check) {}
    std::unique_ptr<FollowedProcess> process;
    LookPacer pacer;
    BackOff checks;       // of a process that does nothing
    uint64_t looked = 0;  // CLOCK_MONOTONIC; 0: look, whatever it did
    uint64_t due = 0;
    uint64_t pause = 0;       // between searches for a source
    uint64_t cost = 0;        // of the last look, CPU nanoseconds
    uint64_t usual_cost = 0;  // of looks, as far as the last one tells
    bool wanted = false;
  };
  void look(Entry& entry);
  void end(Entry& entry);
  uint64_t account();

  FollowOptions options_;
  std::function<bool()> stop_;
  std::map<pid_t, Entry> entries_;
  std::vector<FollowedSummary> ended_;
  std::vector<CopiedText> copied_;
  FollowReport report_;
  uint64_t accounted_ = 0;  // CPU time of this thread
};

class FollowerThread {
 public:
  explicit FollowerThread(FollowOptions options);
  ~FollowerThread();
  FollowerThread(const FollowerThread&) = delete;
  FollowerThread& operator=(const FollowerThread&) = delete;

  void add(pid_t pid, bool wanted = false, uint64_t since = 0);
  void called_exec(pid_t pid, uint64_t time);
  [[nodiscard]] size_t following() const;
  [[nodiscard]] std::vector<CopiedText> take_copied_text();
  FollowReport finish();

 private:
  struct Asked {
    pid_t pid = 0;
    bool wanted = false;
    bool exec = false;
    uint64_t since = 0;
  };
  void run();
  void ask(const Asked& asked);
  void take(const std::vector<Asked>& added);

  std::atomic<bool> ending_ = false;
  Follower follower_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Asked> inbox_;
  size_t following_ = 0;
  std::vector<CopiedText> copied_;
  FollowReport report_;
  std::thread thread_;
};

}  // namespace jitscope
