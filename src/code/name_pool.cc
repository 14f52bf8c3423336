// An open hash table over texts in chunks; see name_pool.h.
#include "code/name_pool.h"

#include <algorithm>
#include <cstring>

#include "base/text_hash.h"

namespace jitscope {

std::string_view NamePool::keep(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > free_size_) {
    const size_t size = std::max(text.size(), kChunk);
    auto chunk = std::make_unique_for_overwrite<char[]>(size);
    char* const start = chunk.get();
    chunks_.push_back(std::move(chunk));
    if (size - text.size() < free_size_) {  // a long text of its own; the old chunk has more room
      std::memcpy(start, text.data(), text.size());
      return {start, text.size()};
    }
    free_ = start;
    free_size_ = size;
  }
  std::memcpy(free_, text.data(), text.size());
  const std::string_view kept(free_, text.size());
  free_ += text.size();
  free_size_ -= text.size();
  return kept;
}

void NamePool::grow() {
  slots_.assign(std::max<size_t>(64, slots_.size() * 2), kFree);
  const size_t mask = slots_.size() - 1;
  for (uint32_t id = 0; id < views_.size(); ++id) {
    size_t slot = hashes_[id] & mask;
    while (slots_[slot] != kFree) slot = (slot + 1) & mask;
    slots_[slot] = id;
  }
}

uint32_t NamePool::intern(std::string_view text) {
  if ((views_.size() + 1) * 2 > slots_.size()) grow();
  const auto hash = static_cast<uint32_t>(text_hash(text));
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot] != kFree) {
    const uint32_t id = slots_[slot];
    if (hashes_[id] == hash && views_[id] == text) return id;
    slot = (slot + 1) & mask;
  }
  const auto id = static_cast<uint32_t>(views_.size());
  slots_[slot] = id;
  hashes_.push_back(hash);
  views_.push_back(keep(text));
  return id;
}

}  // namespace jitscope
