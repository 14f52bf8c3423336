// What may be return addresses in a copied user stack (PERF_SAMPLE_STACK_USER): words that point
// into memory which a JIT may have written. perf unwinds such stacks when it reads the recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "replay/processes.h"

namespace jitscope {

class StackWords {
 public:
  // For the process as it is now; quick when nothing was mapped since.
  void prepare(const ProcessLife& life);

  // function(word) for each that lies in such memory.
  template <typename Function>
  void for_each(std::span<const std::byte> stack, Function&& function) const {
    if (ranges_.empty()) return;
    const uint64_t low = ranges_.front().start;
    const uint64_t size = ranges_.back().end - low;
    for (size_t at = 0; at + sizeof(uint64_t) <= stack.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, stack.data() + at, sizeof(word));
      if (word - low <= size && inside(word)) function(word);
    }
  }

 private:
  struct Range {
    uint64_t start = 0;
    uint64_t end = 0;
  };
  // A return address may be the end of its range: it is behind its call.
  [[nodiscard]] bool inside(uint64_t word) const;

  std::vector<Range> ranges_;   // sorted, merged
  uint32_t life_ = UINT32_MAX;  // its number
  uint32_t growth_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace jitscope
