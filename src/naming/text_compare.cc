#include "naming/text_compare.h"

#include <unistd.h>

#include <array>

namespace jitscope {

ProcessMemory* TextCompare::memory(const ProcessLife& life) {
  const auto [it, fresh] = memories_.try_emplace(life.number);
  // One that called exec since has other memory.
  if (fresh && life.end == UINT64_MAX && search_.lives(life)) {
    it->second.emplace(static_cast<pid_t>(life.pid));
  }
  return it->second ? &*it->second : nullptr;
}

int TextCompare::file(uint32_t number) {
  const auto [it, fresh] = opened_.try_emplace(number);
  if (fresh) {
    auto file = open_regular_file(files_.info(number).path, options_.root);
    if (file) it->second = std::move(file->fd);
  }
  return it->second.get();
}

TextCompare::Verdict TextCompare::compare(const ProcessLife& life, const MappedRange& range,
                                          uint64_t start) {
  ProcessMemory* theirs = memory(life);
  const int fd = theirs == nullptr ? -1 : file(range.under);
  if (fd < 0) return Verdict::unknown;
  std::array<std::byte, kPage> now{};
  std::array<std::byte, kPage> then{};
  if (!theirs->read(start, now)) return Verdict::unknown;
  const ssize_t got =
      ::pread(fd, then.data(), then.size(), static_cast<off_t>(start + range.under_bias));
  if (got != static_cast<ssize_t>(then.size())) return Verdict::unknown;
  return now == then ? Verdict::same : Verdict::differs;
}

TextCompare::Verdict TextCompare::page(const ProcessLife& life, const MappedRange& range,
                                       uint64_t address) {
  const uint64_t start = address & ~(kPage - 1);
  const auto [it, fresh] = known_.try_emplace({life.number, start}, Verdict::unknown);
  if (fresh) it->second = compare(life, range, start);
  return it->second;
}

}  // namespace jitscope
