// What `inject` writes in one go: the records up to the end of a round. perf sorts them by time, so
// the mappings that were added stand together, before all records: what is still to be filled in is
// in few places of the output then. Where time does not tell which comes first, a mapping stands
// right before its sample.
//
// The buffer is small enough to stay in the processor's cache, and used again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/perfdata/writer.h"

namespace jitscope {

class InjectRound {
 public:
  // A mapping in the output, once its round is written.
  struct Place {
    uint64_t offset = 0;  // among the mappings, or the records
    bool front = false;
  };

  InjectRound() : records_(kRoom) {}
  // Whether something of that size no longer fits: write() first. Nothing is larger than a record.
  [[nodiscard]] bool full(size_t size) const {
    return records_.size() - used_ < size || mappings_.size() > kRoom;
  }
  // `time` 0: none.
  void add(std::span<const std::byte> record, uint64_t time);
  // Before the next record that is added; `time` is that one's, 0 where it or the mapping has none.
  Place add_mapping(std::span<const std::byte> record, uint64_t time);

  // Where the first mapping and the first record come to lie when write() writes.
  struct Start {
    uint64_t mappings = 0;
    uint64_t records = 0;
  };
  [[nodiscard]] Start start(const perfdata::Writer& writer) const {
    return {writer.file_bytes(), writer.file_bytes() + mappings_.size()};
  }
  Status write(perfdata::Writer& writer);

 private:
  static constexpr size_t kRoom = 1U << 20U;
  std::vector<std::byte> records_;
  size_t used_ = 0;
  std::vector<std::byte> mappings_;
  uint64_t latest_ = 0;  // time of a record in it
};

}  // namespace jitscope
