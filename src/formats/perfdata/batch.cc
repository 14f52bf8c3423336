#include "formats/perfdata/batch.h"

#include <algorithm>
#include <utility>

#include "formats/perfdata/format.h"

namespace jitscope::perfdata {

void RecordBatch::prefetch(size_t entry, uint32_t bytes) const {
  if (entry >= entries_.size()) return;
  const Entry& soon = entries_[entry];
  soon.chunk->prefetch(soon.position, std::min(soon.size, bytes));
}

// There is a batch with room.
bool Batcher::ready() {
  if (batch_ != nullptr) {
    if (batch_->entries_.size() < kMost) return true;
    flush();
  }
  batch_ = sink_.empty();
  if (batch_ == nullptr) return false;
  for (Chunk* chunk : batch_->chunks_) pool_.let_go(chunk);
  batch_->entries_.clear();
  batch_->chunks_.clear();
  return true;
}

bool Batcher::add(const RawRecord& raw) {
  if (!ready()) return false;
  const auto size = static_cast<uint32_t>(raw.body.size() + kRecordHeadSize);
  batch_->entries_.push_back({raw.chunk, raw.chunk->offset_of(raw.position), raw.position, size});
  if (batch_->chunks_.empty() || batch_->chunks_.back() != raw.chunk) {
    ChunkPool::hold(raw.chunk);
    batch_->chunks_.push_back(raw.chunk);
  }
  return true;
}

void Batcher::flush() {
  if (batch_ != nullptr) sink_.full(std::exchange(batch_, nullptr));
}

bool Batcher::settle() {
  flush();
  return sink_.settle();
}

}  // namespace jitscope::perfdata
