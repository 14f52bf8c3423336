// TraceSites: the sites of one trace. Bodies that come get one, by the backend of choice or by the
// next one that can; bodies that go lose theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "probe/backend_choice.h"
#include "probe/body_tracker.h"
#include "probe/placers.h"
#include "probe/trace_site.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

class TraceSites {
 public:
  TraceSites(const Process& process, const CodeSource& source,
             std::span<const Backend* const> backends, BodyTracker& tracker, Placers& placers)
      : process_(process),
        source_(source),
        backends_(backends),
        tracker_(tracker),
        placers_(placers) {}

  // Before all else.
  void begin(BackendChoice choice) { choice_ = std::move(choice); }
  // What is used for new sites, and why; may change once when the first are placed.
  [[nodiscard]] const BackendChoice& choice() const { return choice_; }

  // How many of these bodies the backend of choice would get.
  [[nodiscard]] size_t of_choice(const std::vector<BodyTracker::Found>& found) const;

  // Places and removes sites. An error concerns the new ones: they are offered again.
  Status take(BodyTracker::Change change);
  void retire(const std::vector<std::pair<uint64_t, uint64_t>>& gone);
  // Sites that were lost though their bodies are there: they are offered again.
  void look_for_lost();
  // At the end: nothing counts any more.
  void remove_all();

  // In the order of their numbers.
  [[nodiscard]] const std::deque<TraceSite>& all() const { return sites_; }
  // What the user should know, once each; what is new since the last time.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  Status place_appeared(std::vector<BodyTracker::Found> appeared);
  TraceSite& site_of(BodyTracker::Found found);
  Status place(const std::vector<TraceSite*>& sites, const Backend& backend);
  PlaceReport place_by(const Backend& backend, const std::vector<TraceSite*>& sites);
  Status place_otherwise(const std::vector<TraceSite*>& sites, const Backend& backend,
                         PlaceReport failed);
  Status all_failed(const std::vector<TraceSite*>& sites, Error error);
  Status fall_back(const std::vector<TraceSite*>& sites, const Backend& backend);
  [[nodiscard]] const Backend* next_to(const Backend& backend, const CodeBody& body) const;

  const Process& process_;
  const CodeSource& source_;
  std::span<const Backend* const> backends_;
  BodyTracker& tracker_;
  Placers& placers_;
  BackendChoice choice_;
  std::deque<TraceSite> sites_;
  std::vector<std::string> notes_;
  unsigned held_looks_ = 0;
};

}  // namespace jitscope
