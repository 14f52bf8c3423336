// A lane turns a stream of bytes (the file, or what its compressed records unpack to) into whole
// records that lie in chunks. A record never straddles two chunks: what is left of one when its
// chunk is full moves to the front of the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/perfdata/chunk.h"
#include "formats/perfdata/records.h"

namespace jitscope::perfdata {

// A record in a chunk. `position` is where its 8-byte head lies.
struct RawRecord {
  RecordType type{};
  uint16_t misc = 0;
  std::span<const std::byte> body;
  Chunk* chunk = nullptr;
  uint32_t position = 0;
};

// The head and body of a record that lies whole in a chunk, as next() found it.
[[nodiscard]] RawRecord record_at(Chunk* chunk, uint32_t position);

class Lane {
 public:
  explicit Lane(ChunkPool& pool) : pool_(&pool) {}
  ~Lane() {
    if (chunk_ != nullptr) pool_->release(chunk_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Where the next bytes go; never empty.
  std::span<std::byte> room();
  // `count` of them are there now, from `offset` of the file (see Chunk::mark).
  void filled(size_t count, uint64_t offset, bool unpacked);

  enum class Next : uint8_t {
    record,
    more,     // no whole record is left
    damaged,  // a record says it is smaller than its own head: nothing after it can be found
  };
  Next next(RawRecord& out);

  // Bytes of the stream to pass over after the record that next() gave last.
  void skip(uint64_t count) {
    skip_ = count;
    sink_ = nullptr;
  }
  // The same, and appends them to `sink`, which must live until they are over.
  void collect(uint64_t count, std::vector<std::byte>& sink) {
    skip_ = count;
    sink_ = &sink;
  }
  // The same as skip(), for a caller that can jump instead of reading: how far. All bytes read so
  // far count already.
  [[nodiscard]] uint64_t take_skip();
  // Bytes of a record that has only begun.
  [[nodiscard]] size_t unread() const { return filled_ - read_; }

 private:
  void pass_over();
  ChunkPool* pool_;
  Chunk* chunk_ = nullptr;
  size_t read_ = 0;    // of the chunk: what next() has given out
  size_t filled_ = 0;  // of the chunk
  uint64_t skip_ = 0;
  std::vector<std::byte>* sink_ = nullptr;  // of what is passed over
};

}  // namespace jitscope::perfdata
