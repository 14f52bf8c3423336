// Bytes to records in chunks; see lane.h.
#include "formats/perfdata/lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/byte_cursor.h"
#include "formats/perfdata/format.h"
#include "formats/perfdata/word.h"

namespace jitscope::perfdata {
namespace {

struct Head {
  uint32_t type = 0;
  uint16_t misc = 0;
  uint16_t size = 0;
};

// Precondition: eight bytes or more.
Head head_of(std::span<const std::byte> bytes) {
  const uint64_t word = word_at(bytes, 0);
  return {low_half(word), static_cast<uint16_t>(word >> 32U), static_cast<uint16_t>(word >> 48U)};
}

}  // namespace

RawRecord record_at(Chunk* chunk, uint32_t position) {
  const std::span<const std::byte> bytes = chunk->bytes().subspan(position);
  const Head head = head_of(bytes);
  return {static_cast<RecordType>(head.type), head.misc,
          bytes.subspan(kRecordHeadSize, head.size - kRecordHeadSize), chunk, position};
}

std::span<std::byte> Lane::room() {
  // A chunk is left when the largest record might no longer fit, so that few records are moved.
  if (chunk_ == nullptr || chunk_->bytes().size() - filled_ <= kLargestRecord) {
    Chunk* next = pool_->take();
    const size_t tail = unread();
    if (chunk_ != nullptr) {
      if (tail != 0) {
        std::memcpy(next->bytes().data(), chunk_->bytes().data() + read_, tail);
        const auto position = static_cast<uint32_t>(read_);
        next->mark(0, chunk_->offset_of(position), chunk_->unpacked_at(position));
      }
      pool_->release(chunk_);
    }
    chunk_ = next;
    read_ = 0;
    filled_ = tail;
  } else if (unread() == 0) {
    // Keep records aligned, also behind a payload of odd length.
    filled_ = std::min((filled_ + kWord - 1) / kWord * kWord, chunk_->bytes().size());
    read_ = filled_;
  }
  return chunk_->bytes().subspan(filled_);
}

void Lane::filled(size_t count, uint64_t offset, bool unpacked) {
  if (count == 0) return;
  chunk_->mark(static_cast<uint32_t>(filled_), offset, unpacked);
  filled_ += count;
}

void Lane::pass_over() {
  const uint64_t count = std::min<uint64_t>(skip_, unread());
  if (sink_ != nullptr && count != 0) {
    const auto passed = chunk_->bytes().subspan(read_, static_cast<size_t>(count));
    sink_->insert(sink_->end(), passed.begin(), passed.end());
  }
  read_ += count;
  skip_ -= count;
}

uint64_t Lane::take_skip() {
  pass_over();
  if (sink_ != nullptr) return 0;
  return std::exchange(skip_, 0);
}

Lane::Next Lane::next(RawRecord& out) {
  if (chunk_ == nullptr) return Next::more;
  if (skip_ != 0) pass_over();
  if (unread() < kRecordHeadSize) return Next::more;
  const Head head = head_of(chunk_->bytes().subspan(read_, kRecordHeadSize));
  if (head.size < kRecordHeadSize) return Next::damaged;
  if (head.size > unread()) return Next::more;
  out = {static_cast<RecordType>(head.type), head.misc,
         chunk_->bytes().subspan(read_ + kRecordHeadSize, head.size - kRecordHeadSize), chunk_,
         static_cast<uint32_t>(read_)};
  read_ += head.size;
  return Next::record;
}

}  // namespace jitscope::perfdata
