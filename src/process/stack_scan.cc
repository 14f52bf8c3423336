#include "process/stack_scan.h"

#include <algorithm>
#include <cstring>

namespace jitscope {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kDepth = 16384;

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
  constexpr size_t kPages = kDepth / kPage + 1;  // the first and the last one in part
  std::vector<std::byte> bytes(threads.size() * kDepth);
  std::vector<MemoryReader::Range> ranges;
  ranges.reserve(threads.size() * kPages);
  for (size_t i = 0; i < threads.size(); ++i) {
    uint64_t address = stack_pointer(threads[i].registers) & ~7ULL;
    auto out = std::span(bytes).subspan(i * kDepth, kDepth);
    while (!out.empty()) {
      const uint64_t part = std::min<uint64_t>(kPage - address % kPage, out.size());
      ranges.push_back({address, out.first(part), false});
      out = out.subspan(part);
      address += part;
    }
  }
  process.memory().read_many(ranges);
  words_.reserve(bytes.size() / sizeof(uint64_t));
  for (const MemoryReader::Range& range : ranges) {
    if (!range.ok) continue;
    for (size_t at = 0; at + sizeof(uint64_t) <= range.out.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, range.out.data() + at, sizeof(word));
      if (word >= kPage) words_.push_back(word);
    }
  }
  std::ranges::sort(words_);
}

bool StackScan::points_into(const CodeRange& range) const {
  const auto it = std::ranges::lower_bound(words_, range.begin);
  return it != words_.end() && *it < range.end;
}

}  // namespace jitscope
