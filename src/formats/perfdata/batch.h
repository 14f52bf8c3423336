// Batches: records in their order for readers in other threads than the one that reads the file.
//
// A RecordBatch says where records lie, and holds the chunks that they lie in until it comes back.
// Batcher fills them, one after the other; all of it but the batches that are out belongs to the
// reading thread. Records are decoded where they are used: as structs they would be larger than the
// most are, and be carried from one processor's cache to the other's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/perfdata/chunk.h"
#include "formats/perfdata/decoder.h"
#include "formats/perfdata/reader.h"

namespace jitscope::perfdata {

class RecordBatch {
 public:
  struct Entry {
    Chunk* chunk = nullptr;
    uint64_t offset = 0;    // RecordHead::offset
    uint32_t position = 0;  // in the chunk
    uint32_t size = 0;
  };
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // Fetches so many bytes of a record that is read soon.
  void prefetch(size_t entry, uint32_t bytes) const;
  [[nodiscard]] RawRecord raw(size_t entry) const {
    return record_at(entries_[entry].chunk, entries_[entry].position);
  }

 private:
  friend class Batcher;
  std::vector<Entry> entries_;
  std::vector<Chunk*> chunks_;  // each as often as it is held
};

// Where full batches go and empty ones come from.
class BatchSink {
 public:
  virtual ~BatchSink() = default;
  // Waits for one. nullptr: the reading is to end.
  virtual RecordBatch* empty() = 0;
  virtual void full(RecordBatch* batch) = 0;
  // Waits until all that were full have come back: what users of the recording read besides, its
  // header, is about to change. False: the reading is to end, and some are still out.
  virtual bool settle() = 0;
};

class Batcher {
 public:
  Batcher(BatchSink& sink, ChunkPool& pool) : sink_(sink), pool_(pool) {}

  // False: no more is wanted.
  bool add(const RawRecord& raw);
  // What there is goes to the sink.
  void flush();
  // See BatchSink.
  bool settle();

 private:
  static constexpr size_t kMost = 512;  // records in a batch, few enough to stay in a cache
  bool ready();

  BatchSink& sink_;
  ChunkPool& pool_;
  RecordBatch* batch_ = nullptr;
};

}  // namespace jitscope::perfdata
