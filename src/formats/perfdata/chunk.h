// Chunks: the buffers that records lie in from the moment they are read until they are handed out.
//
// A chunk counts the records that wait in it and whether a lane still fills it; when both are gone
// it returns to the pool, which keeps a few for the next ones so that memory stays warm. Batches
// (batch.h) may hold it longer. Nothing here is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace jitscope::perfdata {

class ChunkPool;

class Chunk {
 public:
  explicit Chunk(size_t bytes) : words_(new uint64_t[bytes / sizeof(uint64_t)]), size_(bytes) {}

  [[nodiscard]] std::span<std::byte> bytes() {
    return {reinterpret_cast<std::byte*>(words_.get()), size_};
  }
  // Fetches so many bytes from `position` on, which are read soon.
  void prefetch(uint32_t position, uint32_t bytes) const {
    constexpr uint32_t line = 64;
    const std::byte* const start = reinterpret_cast<const std::byte*>(words_.get()) + position;
    for (uint32_t i = 0; i < bytes; i += line) __builtin_prefetch(start + i);
  }
  // Bytes from `position` on lie at `offset` of the file; all at that one offset when they were
  // unpacked from a record there.
  void mark(uint32_t position, uint64_t offset, bool unpacked);
  [[nodiscard]] uint64_t offset_of(uint32_t position) const;
  // As mark() was told: the whole story of one position, to repeat it in another chunk.
  [[nodiscard]] bool unpacked_at(uint32_t position) const;

 private:
  friend class ChunkPool;
  struct Mark {
    uint32_t position = 0;
    bool unpacked = false;
    uint64_t offset = 0;
  };
  [[nodiscard]] const Mark& mark_at(uint32_t position) const;

  // Words, so that addresses can be read in place.
  std::unique_ptr<uint64_t[]> words_;  // NOLINT(modernize-avoid-c-arrays): not initialised
  size_t size_;
  std::vector<Mark> marks_;
  size_t users_ = 0;
  size_t holders_ = 0;
  size_t slot_ = 0;
};

class ChunkPool {
 public:
  explicit ChunkPool(size_t chunk_size) : chunk_size_(chunk_size) {}
  // An empty chunk with one user.
  Chunk* take();
  static void use(Chunk* chunk) { ++chunk->users_; }
  void release(Chunk* chunk) {
    if (--chunk->users_ != 0) return;
    if (chunk->holders_ == 0) return recycle(chunk);
    ++only_held_;
  }
  // While it is used: its bytes stay until let_go(), but it does not count as in use, so that what
  // is handed out does not depend on who holds it.
  static void hold(Chunk* chunk) { ++chunk->holders_; }
  void let_go(Chunk* chunk) {
    if (--chunk->holders_ != 0 || chunk->users_ != 0) return;
    --only_held_;
    recycle(chunk);
  }
  [[nodiscard]] size_t chunk_size() const { return chunk_size_; }
  [[nodiscard]] uint64_t bytes_in_use() const {
    return (all_.size() - idle_.size() - only_held_) * chunk_size_;
  }

 private:
  static constexpr size_t kMostIdle = 32;
  void recycle(Chunk* chunk);
  size_t chunk_size_;
  std::vector<std::unique_ptr<Chunk>> all_;
  std::vector<Chunk*> idle_;
  size_t only_held_ = 0;
};

}  // namespace jitscope::perfdata
