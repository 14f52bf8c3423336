// Processes: the processes and threads of a recording as they are at one moment: names, mappings,
// whose code they run. Fed with records in the order of time.
//
// A process is a new object after fork, after exec and when its pid is used again, so that code of
// an earlier life is never looked up for a later one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "code/address_space.h"
#include "code/code_body.h"
#include "formats/perfdata/records.h"
#include "replay/last_chain.h"
#include "replay/mapped_files.h"
#include "runtimes/runtime_kind.h"

namespace jitscope {

// What a room above keeps about one life of a process; goes with it.
struct LifeData {
  virtual ~LifeData() = default;
};

// One life of a process: from fork or exec to exec or exit.
struct ProcessLife {
  uint32_t pid = 0;
  uint32_t number = 0;  // lives are numbered as they begin
  AddressSpace space;
  // While exec is at work the user stack is still the old program's.
  AddressSpace before_exec;
  std::string comm;    // of the main thread, the last one seen
  uint64_t start = 0;  // of the recording's clock; 0: before the recording
  uint64_t end = UINT64_MAX;
  // Where it came from by fork without exec since: code of the parent's up to `forked_at` is its
  // own too. `uncertain`: the fork was before the recording, the child may have called exec.
  std::shared_ptr<ProcessLife> parent;
  uint64_t forked_at = 0;
  bool uncertain_parent = false;
  bool forked = false;                 // others have it as their parent
  Runtime runtime = Runtime::unknown;  // by the libraries it mapped
  RuntimeKind kind;                    // finer, for advice
  // Executable mappings of files that may be its jitdump, in order of time.
  struct DumpMapping {
    uint32_t file = 0;
    uint64_t time = 0;
  };
  std::vector<DumpMapping> dump_candidates;
  uint64_t pid_namespace = 0;  // inode, 0: not recorded
  uint64_t mount_namespace = 0;
  // Made when first needed, by the only one who knows its type.
  std::unique_ptr<LifeData> sources;  // Resolver: JitSources
  std::unique_ptr<LifeData> answers;  // Session: AnswerCache
};

// A thread as samples of it are shown, as long as its name does not change. For whoever takes in
// samples, which may be in another thread than the one that follows the recording.
struct SampledThread {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t slot = 0;  // a small number of the thread's own, whatever it is called
  std::string comm;
  std::string process;  // comm of the process when the thread was first sampled under this name
  uint32_t group = UINT32_MAX;  // the collector's number
};

struct ThreadState {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t slot = UINT32_MAX;  // threads are numbered as they are first sampled
  std::shared_ptr<ProcessLife> process;
  std::string comm;
  std::shared_ptr<SampledThread> label;  // made when first sampled under this name
  const void* kept_by = nullptr;         // the batch that last took `label`, and its lap
  uint64_t kept_lap = 0;
  // The last sample's stack, of which the next one shares most (session.cc).
  LastChain chain;
  std::vector<uint32_t> locations;  // root first
  uint64_t valid_until = 0;         // up to this time, and while the process and the generation
                                    // are the same, `locations` are the answers for `chain`
  uint32_t generation = 0;
  uint32_t kernel_generation = 0;
  uint32_t growth = 0;  // of the address space, when an address had no mapping; else 0
  const ProcessLife* of_process = nullptr;
};

class Processes {
 public:
  explicit Processes(MappedFiles& files) : files_(files) {}

  void apply(const perfdata::Record& record);
  // The thread, made when nothing told of it.
  ThreadState& thread(uint32_t pid, uint32_t tid);
  [[nodiscard]] std::shared_ptr<ProcessLife> process(uint32_t pid);
  // What apply() maps for this record.
  [[nodiscard]] MappedRange range_of(const perfdata::RecordHead& head, const perfdata::Mmap& mmap);
  [[nodiscard]] const std::vector<std::weak_ptr<ProcessLife>>& lives() const { return lives_; }

 private:
  std::shared_ptr<ProcessLife> begin(uint32_t pid, uint64_t time);
  void apply_mmap(const perfdata::RecordHead& head, const perfdata::Mmap& mmap);
  void touch_children(const ProcessLife* life);
  void apply_comm(const perfdata::RecordHead& head, const perfdata::Comm& comm);
  void apply_fork(const perfdata::RecordHead& head, const perfdata::Fork& fork);
  void apply_exit(const perfdata::RecordHead& head, const perfdata::Exit& exit);

  MappedFiles& files_;
  std::unordered_map<uint32_t, std::shared_ptr<ProcessLife>> processes_;
  std::unordered_map<uint64_t, std::unique_ptr<ThreadState>> threads_;  // pid << 32 | tid
  std::vector<std::weak_ptr<ProcessLife>> lives_;
  ThreadState* last_ = nullptr;
};

}  // namespace jitscope
