// BodyTracker: looks at a code source when it is time, and says which bodies of the watched methods
// are new and which are gone. Shared by trace and expose.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/back_off.h"
#include "base/result.h"
#include "ebpf/load_watch.h"
#include "probe/methods.h"
#include "process/work_since.h"
#include "runtimes/common/code_source.h"
#include "runtimes/common/map_watch.h"

namespace jitscope {

// A body that calls enter: what "alive" means in a coverage.
[[nodiscard]] bool entered_by_calls(const CodeBody& body);

class BodyTracker {
 public:
  BodyTracker(const Process& process, CodeSource& source, MethodSet methods);

  // First look: selects the methods (loaded ones too), and starts to listen for load events where
  // the runtime has them. `notes` gets what the user should know.
  Status start(std::vector<std::string>& notes);

  // After start(): the snapshots need no other bodies than those of the watched methods.
  void only_watched();

  struct Found {
    CodeBody body;
    size_t method = 0;
    // Before this moment (CLOCK_MONOTONIC) it was not there; 0: it was when the tracker began.
    uint64_t not_before_ns = 0;
  };
  struct Change {
    std::vector<Found> appeared;
    // Keys (entry address, version) that are no longer entered by calls.
    std::vector<std::pair<uint64_t, uint64_t>> gone;
  };
  // True when a load event, a change of the perf map, or the clock asks for a look.
  bool due();
  // Looks now. A body is reported once, those with a not_probeable reason at every look.
  Result<Change> look();
  // Report this body again at the next look (it could not be dealt with yet)...
  void offer_again(const CodeBody& body);
  // ... and look soon, though not for ever: each try costs the target a stop.
  void retry(const CodeBody& body);

  void look_soon() { soon_ = true; }

  [[nodiscard]] bool retries() const { return soon_; }

  // Bodies of a method that are entered by calls now.
  [[nodiscard]] uint64_t alive(size_t method) const;
  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }
  [[nodiscard]] MethodSet& methods() { return methods_; }
  [[nodiscard]] const MethodSet& methods() const { return methods_; }
  [[nodiscard]] bool follows_loads() const { return watch_ != nullptr; }
  // due() should be asked again after this, and as soon as one of the descriptors is readable; but
  // never more often than after the shortest pause, whatever happens.
  [[nodiscard]] std::chrono::milliseconds pause() const;
  [[nodiscard]] std::chrono::milliseconds shortest_pause() const;
  [[nodiscard]] std::vector<int> wake_fds() const;
  // Looks made, but for the first.
  [[nodiscard]] uint64_t looks() const { return looks_; }

 private:
  using Key = std::pair<uint64_t, uint64_t>;
  [[nodiscard]] static Key key_of(const CodeBody& body) { return {body.address, body.version}; }

  const Process& process_;
  CodeSource& source_;
  MethodSet methods_;
  Snapshot snapshot_;
  std::unique_ptr<LoadWatch> watch_;
  std::unique_ptr<MapWatch> map_watch_;
  // Until when nothing new was announced, and when the last look that succeeded began.
  uint64_t quiet_until_ns_ = 0;
  uint64_t complete_look_ns_ = 0;
  BackOff events_;  // anything that was announced
  WorkSince work_;
  uint64_t looks_ = 0;
  std::map<Key, size_t> known_;  // bodies reported and still alive -> method
  std::map<Key, unsigned> retries_;
  std::vector<uint64_t> alive_;
  uint64_t last_look_ns_ = 0;
  uint64_t look_cost_ns_ = 0;
  bool soon_ = false;
  bool offered_ = false;  // again, since the last look
  bool found_ = false;    // something, by the last look
  bool fresh_ = false;    // snapshot_ is start()'s own and was not looked at yet
};

}  // namespace jitscope
