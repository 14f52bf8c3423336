// A ByteSource as the reader sees it: one position that moves forward, and ranges beside it.
//
// A file can be asked for any range. Of a pipe only the bytes that keep_until() and keep_rest()
// read are there to ask for; they are taken from the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/meter.h"
#include "base/result.h"

namespace jitscope::perfdata {

class Input {
 public:
  // Attributes, features, ids: no section of them is larger, and no more of a pipe is kept.
  static constexpr uint64_t kLargestSection = 64U << 20U;

  // `meter` may be null.
  explicit Input(std::unique_ptr<ByteSource> source, Meter* meter = nullptr)
      : source_(std::move(source)), seekable_(source_->seekable()), meter_(meter) {
    if (meter_ != nullptr && seekable_) meter_->whole = source_->size();
  }

  // The bytes at position(), which moves; 0 at the end.
  Result<size_t> next(std::span<std::byte> out);
  [[nodiscard]] uint64_t position() const { return position_; }
  [[nodiscard]] bool seekable() const { return seekable_; }
  [[nodiscard]] uint64_t size() const { return source_->size(); }
  // Only where seekable.
  void jump(uint64_t position) { position_ = position; }
  // Reads on so that position() is `offset`, and keeps what it reads. Fewer where the source ends.
  Status keep_until(uint64_t offset);
  // Forgets what is kept and keeps what follows instead, up to the largest section.
  Status keep_rest();
  // As many bytes of the range as there are (and kept), at most the largest section.
  Result<std::vector<std::byte>> range(uint64_t offset, uint64_t size);

  [[nodiscard]] std::string where() const { return source_->where(); }

 private:
  std::unique_ptr<ByteSource> source_;
  bool seekable_;
  Meter* meter_;
  uint64_t position_ = 0;
  uint64_t kept_from_ = 0;
  std::vector<std::byte> kept_;
};

}  // namespace jitscope::perfdata
