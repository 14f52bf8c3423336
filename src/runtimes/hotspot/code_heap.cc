// Finds the code heaps and walks their blocks; see code_heap.h.
#include "runtimes/hotspot/code_heap.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_cursor.h"
#include "base/work_limit.h"
#include "runtimes/hotspot/batch.h"

namespace jitscope::hotspot {
namespace {

constexpr size_t kMaxHeaps = 16;                 // HotSpot has at most 4
constexpr uint64_t kMaxHeapBytes = 1ULL << 32U;  // ReservedCodeCacheSize is at most 2 GB
constexpr uint8_t kFreeSentinel = 0xff;
constexpr size_t kMapChunk = 1U << 20U;
constexpr size_t kBlocksAtOnce = 8192;

constexpr std::string_view kTornBlock = "code heap block changed while being read";

}  // namespace

Result<CodeHeaps> CodeHeaps::open(const VmStructs& structs) {
  CodeHeaps result;
  if (structs.find("CodeCache", "_heaps") != nullptr) {
    JITSCOPE_ASSIGN(result.heaps_address_, structs.static_address("CodeCache", "_heaps"));
    JITSCOPE_ASSIGN(result.array_length_,
                    structs.member({"GrowableArrayBase", "GenericGrowableArray"}, {"_len"}));
    JITSCOPE_ASSIGN(result.array_data_, structs.member({"GrowableArray<int>"}, {"_data"}));
  } else {
    JITSCOPE_ASSIGN(result.heaps_address_, structs.static_address("CodeCache", "_heap"));
    result.single_heap_ = true;
  }
  // CodeHeap::_memory and _segmap are VirtualSpaces that lie inside the CodeHeap.
  const auto inside = [&](std::string_view space, std::string_view end) -> Result<FieldRef> {
    const VmField* outer = structs.find("CodeHeap", space);
    JITSCOPE_ASSIGN(FieldRef inner, structs.member({"VirtualSpace"}, {end}));
    if (outer == nullptr || outer->is_static || outer->offset > 4096) {
      return fail(ErrorKind::not_possible,
                  fmt::format("this JVM does not describe CodeHeap::{}", space));
    }
    inner.offset += static_cast<uint32_t>(outer->offset);
    return inner;
  };
  JITSCOPE_ASSIGN(result.low_, inside("_memory", "_low"));
  JITSCOPE_ASSIGN(result.high_, inside("_memory", "_high"));
  JITSCOPE_ASSIGN(result.map_low_, inside("_segmap", "_low"));
  JITSCOPE_ASSIGN(result.map_high_, inside("_segmap", "_high"));
  JITSCOPE_ASSIGN(result.log2_segment_, structs.member({"CodeHeap"}, {"_log2_segment_size"}));
  // HeapBlock is nothing but its header in front of the CodeBlob.
  JITSCOPE_ASSIGN(result.length_, structs.member({"HeapBlock::Header"}, {"_length"}));
  JITSCOPE_ASSIGN(result.used_, structs.member({"HeapBlock::Header"}, {"_used"}));
  JITSCOPE_ASSIGN(const uint64_t size, structs.type_size("HeapBlock"));
  if (size < std::max(result.length_.end(), result.used_.end()) || size > 256) {
    return fail(ErrorKind::not_possible,
                fmt::format("this JVM's HeapBlock is {} bytes large", size));
  }
  result.block_size_ = static_cast<uint32_t>(size);
  return result;
}

Result<std::vector<CodeHeapRange>> CodeHeaps::heaps(MemoryReader& memory) const {
  const auto starting = [] {
    return fail(ErrorKind::not_possible, "the JVM has not set up its code cache yet", {},
                "it is still starting; try again");
  };
  JITSCOPE_ASSIGN(const uint64_t first, read_u64(memory, heaps_address_));
  if (first == 0) return starting();
  std::vector<uint64_t> pointers;
  if (single_heap_) {
    pointers.push_back(first);
  } else {
    std::vector<std::byte> array(std::max(array_length_.end(), array_data_.end()));
    JITSCOPE_TRY(memory.read(first, array));
    StructView view(array);
    const auto count = static_cast<uint64_t>(view.get_signed(array_length_));
    const uint64_t data = view.get(array_data_);
    if (count == 0 || data == 0) return starting();
    if (count > kMaxHeaps) {
      return fail(ErrorKind::damaged, fmt::format("the code cache claims {} heaps", count));
    }
    std::vector<std::byte> bytes(count * 8);
    JITSCOPE_TRY(memory.read(data, bytes));
    ByteCursor cursor(bytes);
    for (uint64_t i = 0; i < count; ++i) pointers.push_back(cursor.u64());
  }
  std::vector<CodeHeapRange> result;
  for (const uint64_t pointer : pointers) {
    std::vector<std::byte> heap(
        std::max({low_.end(), high_.end(), map_low_.end(), map_high_.end(), log2_segment_.end()}));
    JITSCOPE_TRY(memory.read(pointer, heap));
    StructView view(heap);
    CodeHeapRange range{view.get(low_), view.get(high_), view.get(map_low_), view.get(map_high_),
                        0};
    const uint64_t log2 = view.get(log2_segment_);
    if (!view.ok() || log2 < 4 || log2 > 16 || range.high < range.low ||
        range.map_high < range.map_low || range.high - range.low > kMaxHeapBytes) {
      return fail(ErrorKind::damaged,
                  fmt::format("a code heap makes no sense: {:#x}-{:#x}, segments of 2^{} bytes",
                              range.low, range.high, log2),
                  fmt::format("CodeHeap at {:#x}", pointer),
                  "the JVM may still be starting; try again");
    }
    range.log2_segment = static_cast<uint8_t>(log2);
    result.push_back(range);
  }
  return result;
}

uint64_t CodeHeaps::walk(MemoryReader& memory, const CodeHeapRange& heap, uint32_t header_bytes,
                         Diagnostics& diagnostics,
                         const std::function<void(const HeapBlock&)>& visit,
                         uint64_t most_blocks) const {
  const uint64_t segments =
      std::min((heap.high - heap.low) >> heap.log2_segment, heap.map_high - heap.map_low);
  // 1. Block starts, and where each ends according to the map: at the next start, or at the first
  // segment that was never allocated.
  struct Start {
    uint32_t segment;
    uint32_t end;
  };
  std::vector<Start> starts;
  std::vector<std::byte> chunk;
  uint64_t torn = 0;
  bool open = false;
  const auto close_at = [&](uint64_t segment) {
    if (open) starts.back().end = static_cast<uint32_t>(segment);
    open = false;
  };
  for (uint64_t at = 0; at < segments && !WorkLimit::over(); at += kMapChunk) {
    chunk.resize(std::min<uint64_t>(kMapChunk, segments - at));
    if (!memory.read(heap.map_low + at, chunk)) {
      diagnostics.note("code heap segment map not readable",
                       fmt::format("{:#x}", heap.map_low + at));
      close_at(at);
      break;
    }
    for (size_t i = 0; i < chunk.size(); ++i) {
      const auto value = std::to_integer<uint8_t>(chunk[i]);
      if (value != 0 && value != kFreeSentinel) continue;
      close_at(at + i);
      if (value == kFreeSentinel) continue;
      if (starts.size() >= most_blocks) {
        diagnostics.note("code heap has more blocks than are read");
        at = segments;
        break;
      }
      starts.push_back({static_cast<uint32_t>(at + i), 0});
      open = true;
    }
  }
  close_at(segments);

  // 2. The headers.
  std::vector<ByteRange> ranges;
  for (size_t first = 0; first < starts.size() && !WorkLimit::over(); first += kBlocksAtOnce) {
    const size_t count = std::min(kBlocksAtOnce, starts.size() - first);
    ranges.clear();
    for (size_t i = first; i < first + count; ++i) {
      const uint64_t address = heap.low + (uint64_t{starts[i].segment} << heap.log2_segment);
      const uint64_t room = heap.low + (uint64_t{starts[i].end} << heap.log2_segment) - address;
      ranges.push_back({address, static_cast<uint32_t>(std::min<uint64_t>(
                                     uint64_t{block_size_} + header_bytes, room))});
    }
    uint64_t readable = 0;
    read_ranges(memory, ranges, [&](size_t i, std::span<const std::byte> bytes) {
      ++readable;
      const Start start = starts[first + i];
      StructView view(bytes);
      const uint64_t length = view.get(length_);
      const bool in_use = (view.get(used_) & 0xffU) != 0;
      // A block that was split, merged or freed between the two reads has another length by now.
      if (!view.ok() || length != start.end - start.segment) {
        ++torn;
        diagnostics.note(kTornBlock, fmt::format("{:#x}", ranges[i].address));
        return;
      }
      if (!in_use || bytes.size() < block_size_) return;
      visit({ranges[i].address, ranges[i].address + block_size_,
             heap.low + (uint64_t{start.end} << heap.log2_segment), bytes.subspan(block_size_)});
    });
    if (readable < count) {
      torn += count - readable;
      diagnostics.note("code heap block not readable", {}, count - readable);
    }
  }
  return torn;
}

bool CodeHeaps::used(std::span<const std::byte> block_header) const {
  StructView view(block_header);
  const uint64_t value = view.get(used_);
  return view.ok() && value != 0;
}

}  // namespace jitscope::hotspot
