#include "formats/jitdump/input_window.h"

#include <algorithm>
#include <cstring>

#include "base/byte_cursor.h"

namespace jitscope::jitdump {

Result<size_t> InputWindow::fill(size_t least) {
  const size_t room = std::max(block_, least);
  if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, available());
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + room) buffer_.resize(end_ + room);
  const auto free = std::span(buffer_).subspan(end_);
  JITSCOPE_ASSIGN(const size_t got, source_->seekable() ? source_->read_at(position_ + end_, free)
                                                        : source_->read(free));
  end_ += got;
  if (got == room) block_ = std::min(kBlock, block_ * 4);
  return got;
}

Result<std::span<const std::byte>> InputWindow::peek(uint64_t count) {
  while (available() < count && !ended_) {
    // Room for as much again as is there: a size field that lies costs no memory.
    JITSCOPE_ASSIGN(const size_t got, fill(available()));
    ended_ = got == 0;
  }
  return std::span<const std::byte>(buffer_).subspan(begin_,
                                                     std::min<uint64_t>(count, available()));
}

Result<uint64_t> InputWindow::skip(uint64_t count) {
  uint64_t left = count;
  for (;;) {
    const uint64_t step = std::min<uint64_t>(left, available());
    begin_ += static_cast<size_t>(step);
    position_ += step;
    left -= step;
    if (left == 0 || ended_) return count - left;
    if (source_->seekable()) {
      begin_ = end_ = 0;
      position_ = checked_add(position_, left).value_or(UINT64_MAX);
      return count;
    }
    begin_ = end_ = 0;
    JITSCOPE_ASSIGN(const size_t got, fill(0));
    ended_ = got == 0;
  }
}

Result<bool> InputWindow::has(uint64_t count) {
  if (count <= available()) return true;
  if (!source_->seekable()) {
    JITSCOPE_ASSIGN(const auto bytes, peek(count));
    return bytes.size() == count;
  }
  const auto end = checked_add(position_, count);
  if (!end) return false;
  if (*end <= source_->size()) return true;
  // The file may have grown since it was opened.
  std::byte last{};
  JITSCOPE_ASSIGN(const size_t got, source_->read_at(*end - 1, std::span(&last, 1)));
  return got == 1;
}

}  // namespace jitscope::jitdump
