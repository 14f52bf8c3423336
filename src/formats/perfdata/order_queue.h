// Records that wait for their turn, sorted by (time, place in the stream).
//
// A recording is a few streams (one for each CPU) that are sorted already, laid one behind the
// other. So records are kept as sorted runs, each new one at the end of the run whose last time
// comes nearest before it, and are taken out by merging the runs. Any input costs O(log runs) a
// record; rounds that release nothing cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/perfdata/chunk.h"

namespace jitscope::perfdata {

class OrderQueue {
 public:
  struct Entry {
    uint64_t time = 0;
    uint64_t sequence = 0;
    Chunk* chunk = nullptr;
    uint32_t position = 0;
    uint32_t size = 0;
  };

  // Takes over one use of the entry's chunk.
  void push(const Entry& entry);
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  // Precondition for both: not empty.
  [[nodiscard]] uint64_t first_time() const { return heap_.front().time; }
  // Whoever takes the entry reads about so many bytes of it.
  Entry pop(uint32_t read = 128);
  // What waits, with what it costs to keep it.
  [[nodiscard]] uint64_t bytes() const { return entry_bytes_ + runs_.size() * kRunCost; }

 private:
  struct Run {
    std::vector<Entry> entries;
    size_t next = 0;
    uint64_t last_time = 0;
    [[nodiscard]] bool empty() const { return next == entries.size(); }
  };
  static constexpr uint64_t kRunCost = 256;  // the run, its first allocation, its heap entry
  struct Head {
    uint64_t time = 0;
    uint64_t sequence = 0;
    uint32_t run = 0;  // index into runs_
  };
  static bool before(const Head& a, const Head& b) {
    return a.time != b.time ? a.time < b.time : a.sequence < b.sequence;
  }
  uint32_t run_for(uint64_t time);
  static void append(Run& run, const Entry& entry);
  void sift_down();
  void drop_empty_runs();

  std::vector<Run> runs_;
  // Runs by their last time, latest first; the same runs as runs_, empty ones too.
  std::vector<uint32_t> by_last_time_;
  std::vector<Head> heap_;  // the first entry of each run that is not empty
  uint32_t recent_ = 0;     // rank in by_last_time_
  uint64_t entry_bytes_ = 0;
};

}  // namespace jitscope::perfdata
