// CodeHeaps: where HotSpot keeps all generated code, and the blocks in them.
//
// CodeCache::_heaps (one CodeCache::_heap before JDK 9) -> CodeHeap: a VirtualSpace of segments and
// a segment map with one byte per segment (heap.cpp, CodeHeap::mark_segmap_as_used): 0 at the first
// segment of a block, counting up inside it, 0xff where nothing was ever allocated. A block begins
// with a HeapBlock header (length in segments, used or free) and a CodeBlob behind it.
//
// Only the headers are copied, not the code: a block's header arrives in one piece, and a walk over
// 5,000 blocks moves 2 MB instead of 20. The segment map gives the start of every block, so one
// torn header costs one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

struct CodeHeapRange {
  uint64_t low = 0;  // of the committed part
  uint64_t high = 0;
  uint64_t map_low = 0;
  uint64_t map_high = 0;
  uint8_t log2_segment = 0;
};

// A used block whose header agrees with the segment map.
struct HeapBlock {
  uint64_t address = 0;               // of the HeapBlock header
  uint64_t blob = 0;                  // of the CodeBlob behind it
  uint64_t end = 0;                   // behind its last segment
  std::span<const std::byte> header;  // from `blob`; at most the bytes asked for
};

class CodeHeaps {
 public:
  // In all heaps together; real JVMs have some 100,000. Each costs a kilobyte in a snapshot.
  static constexpr uint64_t kMostBlocks = 500'000;

  static Result<CodeHeaps> open(const VmStructs& structs);

  // The heaps as they are now. not_possible with "try again" while the JVM has none yet.
  Result<std::vector<CodeHeapRange>> heaps(MemoryReader& memory) const;
  // Calls `visit` for every used block; `header_bytes` of each blob are read. Returns the number of
  // blocks that were torn (freed, split or allocated while being read).
  uint64_t walk(MemoryReader& memory, const CodeHeapRange& heap, uint32_t header_bytes,
                Diagnostics& diagnostics, const std::function<void(const HeapBlock&)>& visit,
                uint64_t most_blocks = kMostBlocks) const;
  // Whether the block at `address` is in use, out of a header read anew.
  [[nodiscard]] uint32_t block_header_bytes() const { return block_size_; }
  [[nodiscard]] bool used(std::span<const std::byte> block_header) const;

 private:
  CodeHeaps() = default;
  uint64_t heaps_address_ = 0;  // of the static CodeCache::_heaps, or of _heap
  bool single_heap_ = false;
  FieldRef array_length_, array_data_;                       // GrowableArray
  FieldRef low_, high_, map_low_, map_high_, log2_segment_;  // from the CodeHeap
  FieldRef length_, used_;                                   // from the HeapBlock
  uint32_t block_size_ = 0;                                  // sizeof(HeapBlock)
};

}  // namespace jitscope::hotspot
