// FollowedProcess: one live process whose JIT code is watched from outside while a recording runs,
// and written down with the times at which it was seen to come and go.
//
// Where the code is known from, best first: the dump that the runtime writes itself (nothing to do
// but to know of it), HotSpot's own structures, a perf map. A look reads the source; what is new
// since the look before is a LOAD whose time is the end of this look and whose SINCE is the
// beginning of the one before; what is no longer there is GONE. What the first look finds counts
// from the beginning of the recording, or from that of the program where it began later. Lines of a
// perf map never end.
//
// Not thread-safe. Never stops or changes the process.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "capture/body_file.h"
#include "capture/known_bodies.h"
#include "process/process.h"
#include "process/work_since.h"
#include "runtimes/common/code_source.h"
#include "runtimes/common/perf_map_file.h"
#include "runtimes/common/runtime_row.h"

namespace jitscope {

class RuntimeKind;
struct JitMapping;

// The jitdump that a process maps to mark it (PROT_EXEC, so that perf sees it); "" when it has
// none.
[[nodiscard]] std::string mapped_jitdump(const Process& process,
                                         const std::vector<JitMapping>& mappings);

struct FollowedSummary {
  pid_t pid = 0;
  uint64_t start_ticks = 0;
  std::string name;
  std::string source;       // "HotSpot structures in memory"; "" when it was not followed
  std::string dump;         // the file with its bodies; "" when there is none
  std::string own_jitdump;  // the dump that it writes itself, as its mappings name it
  std::string reason;       // why it was not, or no longer, followed
  std::string hint;
  // Not followed, because images that it mapped name its code when the recording is read: what runs
  // it, "Wine".
  std::string in_images;
  bool jit = false;  // it has, or had, code that no ELF file holds
  uint64_t bodies = 0;
  uint64_t gone = 0;
  uint64_t looks = 0;
  // It ended, and ran at most so long after the last look. What it compiled in that time has no
  // name.
  uint64_t unseen_ns = 0;
  uint64_t unread_bytes = 0;  // of its perf map, which was larger than the time for it allowed
  uint64_t skipped = 0;  // lines and bodies that make no sense, and lines beyond the largest number
};

class FollowedProcess {
 public:
  // `path`: of the file to write; `folder`: the one it lies in, when it is open. `begin`: what the
  // first look finds counts from then on, CLOCK_MONOTONIC (of the recording).
  FollowedProcess(Process process, std::string path, SourceOptions options, uint64_t begin,
                  DumpForm form = DumpForm::recorded, std::shared_ptr<const UniqueFd> folder = {});
  // Where a recording's folder has the file of a process.
  [[nodiscard]] static std::string path_in(const std::string& folder, const Process& process);

  enum class State : uint8_t {
    searching,  // no source yet: look() tries again
    following,
    self_dumped,  // its runtime writes a jitdump
    ended,        // exited, or following it failed for good
  };
  [[nodiscard]] State state() const { return state_; }

  // The program that it runs now began at `time` (CLOCK_MONOTONIC): nothing of it is older.
  void called_exec(uint64_t time);
  // Reads what there is. Cheap when little changed.
  void look();
  // Whether a look may find something: false while the process has done next to nothing since the
  // last one. `cost`: of a look, CPU nanoseconds. Takes a few microseconds.
  [[nodiscard]] bool may_have_news(uint64_t cost);
  // Tells that nothing more will be read; closes the file.
  void finish();

  // The file, open for reading; empty before there is one.
  [[nodiscard]] UniqueFd open_file() const { return file_.reopen(); }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  // When the process was started, or its present program, CLOCK_MONOTONIC.
  [[nodiscard]] uint64_t started() const { return std::max(started_, exec_time_); }
  // Written down up to now.
  [[nodiscard]] uint64_t bodies() const { return summary_.bodies; }
  [[nodiscard]] FollowedSummary summary() const;
  // Mappings of files that would be there, had their code not been moved (symbolize/copied_text.h):
  // what was found since the last call.
  [[nodiscard]] std::vector<Mapping> take_copied_text();

 private:
  void search();
  void look_for_copied_text(const std::vector<Mapping>& maps);
  bool take_memory(const RuntimeInfo& info);
  bool take_perf_map(const RuntimeKind& kind);
  Status look_at_source();
  Status look_at_map();
  Status take_map_piece(const PerfMapFollower::Growth& growth);
  Status write_bodies(const std::vector<const CodeBody*>& fresh, std::span<const CodeBody> all,
                      uint64_t now);
  void write_gone(std::span<const KnownBodies::Gone> gone, uint64_t now);
  void looked(uint64_t begin);
  // There is more of the map than the last look had time for.
  [[nodiscard]] bool unread() const { return map_ != nullptr && map_->unread() != 0; }
  [[nodiscard]] std::string written_name(std::string_view name, Tier tier) const;
  // After an error of a look: did it call exec, exit, or was it a bad moment?
  void recover(const Error& error);
  void stop(State state, std::string reason, std::string hint = {});

  // On the heap: the code source refers to it.
  std::unique_ptr<Process> process_;
  SourceOptions options_;
  DumpForm form_;
  State state_ = State::searching;
  BodyFile file_;
  uint64_t started_ = 0;
  uint64_t first_time_ = 0;  // what the next first look finds counts from here on
  uint64_t exec_time_ = 0;   // of the last exec that was told of
  uint64_t last_time_ = 0;   // the latest of what was written down
  uint64_t last_look_ = 0;   // begin of the look before; 0: there was none
  WorkSince work_;
  uint64_t checked_ = 0;     // when it was seen last that it does nothing,
  uint64_t worked_ = 0;      // and what it had done since the last look
  uint64_t seen_until_ = 0;  // begin of the last look at any program of the process
  Runtime runtime_ = Runtime::unknown;

  std::unique_ptr<CodeSource> source_;
  KnownBodies known_;

  Diagnostics diagnostics_;
  PerfMapPlace place_;
  std::unique_ptr<PerfMapFollower> map_;
  uint64_t lines_ = 0;
  uint64_t code_bytes_ = 0;  // that lines of perf maps stand for

  std::vector<Mapping> copied_;
  unsigned copied_looks_ = 0;
  std::set<uint64_t> copied_known_;  // where they begin

  unsigned failures_ = 0;
  FollowedSummary summary_;
};

}  // namespace jitscope
