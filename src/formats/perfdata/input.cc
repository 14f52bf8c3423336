// Streams and ranges of a source; see input.h.
#include "formats/perfdata/input.h"

#include <algorithm>

namespace jitscope::perfdata {

Result<size_t> Input::next(std::span<std::byte> out) {
  JITSCOPE_ASSIGN(const size_t got,
                  seekable_ ? source_->read_at(position_, out) : source_->read(out));
  position_ += got;
  // A file may be read from its middle on: how far it is counts.
  if (meter_ != nullptr) meter_->done = position_;
  return got;
}

Status Input::keep_until(uint64_t offset) {
  constexpr size_t piece = 64U << 10U;
  if (kept_.empty()) kept_from_ = position_;
  while (position_ < offset && kept_.size() < kLargestSection) {
    const size_t before = kept_.size();
    kept_.resize(before + static_cast<size_t>(std::min<uint64_t>(piece, offset - position_)));
    JITSCOPE_ASSIGN(const size_t got, next(std::span(kept_).subspan(before)));
    kept_.resize(before + got);
    if (got == 0) break;
  }
  return {};
}

Status Input::keep_rest() {
  kept_.clear();
  return keep_until(UINT64_MAX);
}

Result<std::vector<std::byte>> Input::range(uint64_t offset, uint64_t size) {
  size = std::min(size, kLargestSection);
  if (!seekable_) {
    if (offset < kept_from_ || offset - kept_from_ >= kept_.size()) return std::vector<std::byte>{};
    const auto from = static_cast<size_t>(offset - kept_from_);
    const auto count = static_cast<size_t>(std::min<uint64_t>(size, kept_.size() - from));
    const std::span<const std::byte> bytes = std::span(kept_).subspan(from, count);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }
  if (offset >= source_->size()) return std::vector<std::byte>{};
  std::vector<std::byte> bytes(static_cast<size_t>(std::min(size, source_->size() - offset)));
  JITSCOPE_ASSIGN(const size_t got, source_->read_at(offset, bytes));
  bytes.resize(got);
  return bytes;
}

}  // namespace jitscope::perfdata
