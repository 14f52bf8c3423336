// JitSources: what can name the JIT code of one life of a process: jitdumps (by time) and a perf
// map (without). Dumps are read once and shared by all processes that run their code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/unique_fd.h"
#include "code/timeline.h"
#include "formats/jitdump/jitdump.h"
#include "formats/perfmap/perf_map_index.h"
#include "naming/dump_scopes.h"
#include "naming/frame.h"
#include "naming/resolution.h"
#include "naming/source_search.h"
#include "replay/processes.h"

namespace jitscope {

// A jitdump in memory, as a timeline in the recording's clock.
struct LoadedDump {
  std::string shown;
  UniqueFd file;  // to read it again; only where the cache keeps files
  jitdump::Header header;
  Timeline timeline;
  DumpScopes scopes;
  bool recorded = false;  // written by jitscope record
  // And of nothing but what a runtime made for itself: it tells nothing of other code.
  bool stubs = false;
  // Of one that the process is proven to have mapped.
  std::optional<uid_t> owner;
  // Times cannot be compared with the recording's; why_untimed says why.
  bool timed = true;
  std::string why_untimed;
  uint64_t loads = 0;  // the file's loads are bodies 0, 1, 2, ... of the timeline
  uint64_t cut = 0;    // records that the end of the file cut short
  // Of a recorded one whose process was followed to its end: when it was looked at last.
  uint64_t seen_until = kForever;
  // Damage hides the rest: what lay where after the last record is not certain.
  bool damaged = false;
  Diagnostics diagnostics;
};

class JitSources;

struct JitAnswer {
  NameSource source = NameSource::none;
  std::string raw;                      // "" until JitSources::complete(), unless ambiguous
  std::vector<std::string> candidates;  // raw names, when ambiguous
  bool ambiguous = false;
  bool by_grace = false;  // the body was logged a little later; nothing of this source lay there
  bool all_candidates = true;              // false: there are more than `candidates`
  uint64_t start = 0;                      // of the body
  uint64_t size = 0;                       // of the body; a map's only after complete()
  std::shared_ptr<const LoadedDump> dump;  // when a dump named it
  BodyId body = kNoBody;
  JitSources* map = nullptr;  // when its perf map named it
  uint64_t line = 0;          // tells the map's lines apart
  uint64_t valid_from = 0;
  uint64_t valid_until = kForever;

  // What tells the body from all others.
  [[nodiscard]] const void* origin() const {
    return dump != nullptr ? static_cast<const void*>(dump.get()) : map;
  }
  [[nodiscard]] uint64_t number() const { return dump != nullptr ? body : line; }
};

// When it is so that no timed source has a body: in [from, until).
struct NoBody {
  uint64_t from = 0;
  uint64_t until = kForever;
};

// Reads and keeps dumps.
class DumpCache {
 public:
  // `keep`: LoadedDump::file stays open.
  DumpCache(const RecordingFacts& facts, bool lines, bool keep)
      : facts_(facts), lines_(lines), keep_(keep) {}
  // The dump behind `file`; by device and inode, so that two processes share one.
  Result<std::shared_ptr<LoadedDump>> load(FoundFile file, bool recorded);
  [[nodiscard]] const std::vector<std::shared_ptr<LoadedDump>>& all() const { return all_; }

 private:
  const RecordingFacts& facts_;
  bool lines_;
  bool keep_;
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<LoadedDump>> by_inode_;
  std::vector<std::shared_ptr<LoadedDump>> all_;
};

// What was found out about the sources of one life of a process; kept when the life is over.
struct LifeFindings {
  struct Finding {
    bool used = false;
    bool refused = false;
    std::string text;
  };
  uint32_t pid = 0;
  std::string comm;
  Runtime runtime = Runtime::unknown;
  RuntimeKind kind;
  std::vector<Finding> list;
};

// What all processes of a recording share.
struct SourceContext {
  const RecordingFacts& facts;
  const SourceSearch& search;
  MappedFiles& files;
  DumpCache& dumps;
  std::vector<std::shared_ptr<LoadedDump>> given;  // by --jitdump
  // Findings that are not about one process.
  std::vector<std::string> notes;
  // Of all lives whose sources were looked for.
  std::vector<std::shared_ptr<LifeFindings>> findings;
  // Those of `given`, and of perf maps given by hand, that a process had a use for.
  std::set<const LoadedDump*> dumps_taken;
  std::set<uint32_t> maps_taken;  // pids
};

// When all samples were seen: tells of dumps and maps that were given and that nothing had a use
// for.
void note_unused(SourceContext& context, const NamingOptions& options);

class JitSources : public LifeData {
 public:
  JitSources(SourceContext& context, const ProcessLife& life);

  // A body that a timed source says was alive then. Nothing: no such source, or no body; `none` is
  // narrowed to the time for which that is so.
  std::optional<JitAnswer> timed(uint64_t address, uint64_t time, NoBody& none,
                                 AddressRange& range);
  // The untimed ones: a dump whose clock does not fit, then the perf map.
  std::optional<JitAnswer> untimed(uint64_t address, AddressRange& range);
  // Reads the name of an answer for `address`, if it has none yet: callers that know the body
  // already do without.
  static void complete(JitAnswer& answer, uint64_t address);
  // Why neither gave a name for the address.
  NoName reason(uint64_t address, uint64_t time);

  [[nodiscard]] bool any() const { return any_dump() || map_ != nullptr; }

 private:
  [[nodiscard]] bool any_dump() const {
    return std::ranges::any_of(dumps_, [](const auto& dump) { return !dump->stubs; });
  }
  void look();
  void look_at_candidate(const ProcessLife::DumpMapping& candidate);
  void look_at_recorded();
  void look_at_given();
  void tell(PassedOver passed_over);
  void tell_used(std::string text);
  void update_findings();
  void doubt(JitAnswer& answer, uint64_t address, uint64_t time);
  void add_dump(std::shared_ptr<LoadedDump> dump);
  void open_map();

  SourceContext& context_;
  const ProcessLife& life_;
  size_t candidates_seen_ = 0;
  bool looked_ = false;
  bool map_looked_ = false;
  bool dump_is_empty_ = false;  // the process's own: nothing, or nothing that is a jitdump
  std::vector<std::shared_ptr<LoadedDump>> dumps_;
  std::unique_ptr<PerfMapIndex> map_;
  bool map_is_settled_ = false;  // written to its end before the recording began
  Diagnostics map_diagnostics_;
  std::shared_ptr<LifeFindings> findings_;
};

}  // namespace jitscope
