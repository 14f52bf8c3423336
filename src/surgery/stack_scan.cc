#include "surgery/stack_scan.h"

#include <algorithm>
#include <cstring>

#include "base/page.h"

namespace jitscope {
namespace {

constexpr uint64_t kDepth = 16384;
constexpr uint64_t kDeep = 4 * kDepth;
constexpr uint64_t kDeepInAll = 16U << 20U;

// The bytes above every thread's stack pointer, `depth` each, page by page.
std::vector<MemoryReader::Range> read_stacks(const Process& process,
                                             std::span<const StoppedThread> threads, uint64_t depth,
                                             std::vector<std::byte>& bytes) {
  bytes.resize(threads.size() * depth);
  std::vector<MemoryReader::Range> ranges;
  // The first page and the last one in part.
  ranges.reserve(threads.size() * (depth / kPage + 1));
  for (size_t i = 0; i < threads.size(); ++i) {
    uint64_t address = stack_pointer(threads[i].registers) & ~7ULL;
    auto out = std::span(bytes).subspan(i * depth, depth);
    while (!out.empty()) {
      const uint64_t part = std::min<uint64_t>(kPage - address % kPage, out.size());
      ranges.push_back({address, out.first(part), false});
      out = out.subspan(part);
      address += part;
    }
  }
  process.memory().read_many(ranges);
  return ranges;
}

template <typename Use>
void for_each_word(const std::vector<MemoryReader::Range>& ranges, Use&& use) {
  for (const MemoryReader::Range& range : ranges) {
    if (!range.ok) continue;
    for (size_t at = 0; at + sizeof(uint64_t) <= range.out.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, range.out.data() + at, sizeof(word));
      use(word);
    }
  }
}

}  // namespace

bool any_thread_at(std::span<const StoppedThread> threads, const CodeRange& range) {
  return std::ranges::any_of(threads, [&](const StoppedThread& thread) {
    // Both: the thread will be at the first, and the kernel shows the second.
    for (const uint64_t at :
         {next_instruction(thread.registers), instruction_pointer(thread.registers)}) {
      if (at >= range.begin && at < range.end) return true;
    }
    return false;
  });
}

StackScan::StackScan(const Process& process, std::span<const StoppedThread> threads) {
  std::vector<std::byte> bytes;
  const auto ranges = read_stacks(process, threads, kDepth, bytes);
  words_.reserve(bytes.size() / sizeof(uint64_t));
  for_each_word(ranges, [&](uint64_t word) {
    if (word >= kPage) words_.push_back(word);
  });
  std::ranges::sort(words_);
}

bool StackScan::points_into(const CodeRange& range) const {
  const auto it = std::ranges::lower_bound(words_, range.begin);
  return it != words_.end() && *it < range.end;
}

bool any_stack_points_into(const Process& process, std::span<const StoppedThread> threads,
                           const CodeRange& range) {
  const uint64_t share = kDeepInAll / std::max<size_t>(threads.size(), 1) / kPage * kPage;
  std::vector<std::byte> bytes;
  bool found = false;
  for_each_word(read_stacks(process, threads, std::clamp(share, kDepth, kDeep), bytes),
                [&](uint64_t word) { found |= word >= range.begin && word < range.end; });
  return found;
}

}  // namespace jitscope
