// Buffers of records; see chunk.h.
#include "formats/perfdata/chunk.h"

#include <algorithm>
#include <utility>

namespace jitscope::perfdata {

void Chunk::mark(uint32_t position, uint64_t offset, bool unpacked) {
  if (!marks_.empty()) {
    Mark& last = marks_.back();
    // Bytes that follow on in the file need no mark of their own.
    const uint64_t here = last.unpacked ? last.offset : last.offset + (position - last.position);
    if (last.unpacked == unpacked && here == offset) return;
    if (last.position == position) {
      last = Mark{position, unpacked, offset};
      return;
    }
  }
  marks_.push_back(Mark{position, unpacked, offset});
}

const Chunk::Mark& Chunk::mark_at(uint32_t position) const {
  static constexpr Mark kNowhere{};
  if (marks_.empty()) return kNowhere;
  if (marks_.size() == 1) return marks_.front();
  const auto after = std::ranges::upper_bound(marks_, position, {}, &Mark::position);
  return after == marks_.begin() ? kNowhere : *std::prev(after);
}

uint64_t Chunk::offset_of(uint32_t position) const {
  const Mark& mark = mark_at(position);
  return mark.unpacked ? mark.offset : mark.offset + (position - mark.position);
}

bool Chunk::unpacked_at(uint32_t position) const {
  return mark_at(position).unpacked;
}

Chunk* ChunkPool::take() {
  Chunk* chunk = nullptr;
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Chunk>(chunk_size_));
    chunk = all_.back().get();
    chunk->slot_ = all_.size() - 1;
  } else {
    chunk = idle_.back();
    idle_.pop_back();
  }
  chunk->marks_.clear();
  chunk->users_ = 1;
  return chunk;
}

void ChunkPool::recycle(Chunk* chunk) {
  if (idle_.size() < kMostIdle) {
    idle_.push_back(chunk);
    return;
  }
  const size_t slot = chunk->slot_;
  std::swap(all_[slot], all_.back());
  all_[slot]->slot_ = slot;
  all_.pop_back();
}

}  // namespace jitscope::perfdata
