// InputWindow: a moving view of a ByteSource, so that records of any length are parsed in place
// from files and pipes alike. Grows only by bytes that are really there, never by a size field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"

namespace jitscope::jitdump {

class InputWindow {
 public:
  explicit InputWindow(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // The next `count` bytes, or fewer when the source ends before. Valid until the next call.
  Result<std::span<const std::byte>> peek(uint64_t count);
  // Moves on; the bytes are not read where the source can be asked by offset. Says how many of
  // them were there (without reading, a source that is shorter is noticed by the next peek()).
  Result<uint64_t> skip(uint64_t count);
  // Whether the next `count` bytes are there, without reading them where that is possible.
  Result<bool> has(uint64_t count);

  [[nodiscard]] uint64_t position() const { return position_; }
  [[nodiscard]] const ByteSource& source() const { return *source_; }

 private:
  // A read asks for four times what the one before got whole, between these: most dumps that are
  // looked at again and again are short, and room that is not needed costs more than they do.
  static constexpr size_t kFirstBlock = 4U << 10U;
  static constexpr size_t kBlock = 256U << 10U;

  [[nodiscard]] size_t available() const { return end_ - begin_; }
  // One read behind what is held, with room for `least` bytes at least; 0 at the end of the
  // source.
  Result<size_t> fill(size_t least);

  std::unique_ptr<ByteSource> source_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0;            // of the unread bytes in buffer_
  size_t end_ = 0;              // behind them
  uint64_t position_ = 0;       // in the source, of begin_
  size_t block_ = kFirstBlock;  // of the next read
  bool ended_ = false;
};

}  // namespace jitscope::jitdump
