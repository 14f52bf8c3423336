// The containers of ReadyToRun images: packed integers, sparse arrays, hash tables (CoreCLR:
// nativeformatreader.h; where the documents differ from it, this is what the runtime does). No
// system calls.
//
// The bytes are hostile: nothing is allocated, a look-up reads at most six integers, and going
// through a table takes time in proportion to the bytes between its first and last bucket, since
// these must follow each other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/byte_cursor.h"
#include "base/result.h"

namespace jitscope {

// 1 to 5 bytes, little-endian; how many is said by the lowest bits of the first.
[[nodiscard]] uint32_t native_unsigned(ByteCursor& cursor);
[[nodiscard]] int32_t native_signed(ByteCursor& cursor);

class NativeArray {
 public:
  NativeArray() = default;
  // damaged: the index of its blocks is not all there, so it has at most 16 elements a byte.
  static Result<NativeArray> read(std::span<const std::byte> bytes);

  [[nodiscard]] uint32_t size() const { return size_; }
  // At the element's bytes. Nothing: the array has none, or is damaged there, which a sparse
  // array cannot tell apart.
  [[nodiscard]] std::optional<ByteCursor> at(uint32_t index) const;

 private:
  std::span<const std::byte> bytes_;
  size_t base_ = 0;  // where the index of the blocks lies, which all offsets count from
  uint32_t size_ = 0;
  uint32_t entry_size_ = 0;
};

// Calls `entry` with a cursor at each entry, until it returns an error. `bytes`: what entries can
// lie in; the table begins at `offset` and has `size` bytes.
[[nodiscard]] Status each_native_entry(std::span<const std::byte> bytes, uint64_t offset,
                                       uint64_t size,
                                       const std::function<Status(ByteCursor&)>& entry);

}  // namespace jitscope
