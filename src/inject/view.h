// PerfView: what perf, reading the output of `inject`, takes to lie at each address of a process:
// the pieces of our images that it believes in, kept by the rules that perf goes by (linux:
// tools/perf/util/machine.c, map.c, thread.c): a new mapping takes the place of what it covers, a
// fork inherits all, a thread changes nothing.
//
// perf keeps a process's mappings over exec; what was ours before is not relied upon then, but is
// still there to hide. Only our own pieces are kept here, since nothing else matters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/perfdata/records.h"

namespace jitscope {

class PerfView {
 public:
  static constexpr uint32_t kNoCode = UINT32_MAX;
  struct Piece {
    uint64_t end = 0;  // exclusive
    uint32_t code = kNoCode;
    bool sure = true;
  };

  PerfView();
  // Whether all of [low, high] (inclusive) is this code's.
  [[nodiscard]] bool shows(uint64_t low, uint64_t high, uint32_t code) const;
  // Our pieces that reach into [low, high], cut to it: (start, piece).
  [[nodiscard]] std::vector<std::pair<uint64_t, Piece>> pieces(uint64_t low, uint64_t high) const;
  [[nodiscard]] bool any(uint64_t start, uint64_t end) const;
  // Something else is mapped at [start, end).
  void cover(uint64_t start, uint64_t end);
  // Code of ours is mapped there; `over_file`: where the process has mapped a file.
  void show(uint64_t start, uint64_t end, uint32_t code, bool over_file);
  // False: no code of ours was ever shown over a file within [low, high]. May be true without need.
  [[nodiscard]] bool may_hide_file(uint64_t low, uint64_t high) const {
    return files_.meets(low, high);
  }
  // exec.
  void doubt();

  // Numbers that no other state of any view has. `lost`: since then no piece of ours has gone, so
  // what was shown then is shown still. `changed`: nothing has changed at all.
  [[nodiscard]] uint64_t lost() const { return lost_; }
  [[nodiscard]] uint64_t changed() const { return changed_; }

  // Of images (by number): whether what unwinders need of them is mapped.
  [[nodiscard]] bool has_tables(uint32_t image) const {
    return image < tables_.size() && tables_[image];
  }
  void set_tables(uint32_t image) {
    if (tables_.size() <= image) tables_.resize(image + size_t{1});
    tables_[image] = true;
  }

 private:
  using Pieces = std::map<uint64_t, Piece>;  // by start; they do not overlap
  // All that was ever added lies inside.
  struct Hull {
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;  // exclusive
    [[nodiscard]] bool meets(uint64_t first, uint64_t last) const {
      return last >= low && first < high;
    }
    void add(uint64_t start, uint64_t end) {
      low = std::min(low, start);
      high = std::max(high, end);
    }
  };
  Pieces& own();
  [[nodiscard]] Pieces::const_iterator first(uint64_t low) const;
  // True when a piece was there.
  bool clear(Pieces& pieces, uint64_t start, uint64_t end);

  std::shared_ptr<Pieces> pieces_;  // shared by copies until one of them changes
  std::vector<bool> tables_;
  Hull all_;
  Hull files_;  // over files
  uint64_t lost_ = 0;
  uint64_t changed_ = 0;
};

// The views of all processes of a recording, fed with its records in the order in which they are
// written.
class PerfViews {
 public:
  // Mappings are the caller's: PerfView::cover().
  void apply(const perfdata::Record& record);
  PerfView& of(uint32_t pid);
  // Null: nothing of ours is there.
  [[nodiscard]] PerfView* find(uint32_t pid) const {
    const auto found = views_.find(pid);
    return found == views_.end() ? nullptr : found->second.get();
  }
  // Changes when views that of() gave are no longer there.
  [[nodiscard]] uint64_t epoch() const { return epoch_; }

 private:
  std::unordered_map<uint32_t, std::unique_ptr<PerfView>> views_;
  uint64_t epoch_ = 1;
};

}  // namespace jitscope
