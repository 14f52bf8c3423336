#include "base/byte_cursor.h"

#include <array>
#include <charconv>

namespace jitscope {

std::span<const std::byte> ByteCursor::bytes(uint64_t count) {
  if (!require(count)) return {};
  auto result = bytes_.subspan(offset_, count);
  offset_ += count;
  return result;
}

ByteCursor ByteCursor::slice(uint64_t count) {
  ByteCursor result;
  result.order_ = order_;
  if (!require(count)) {
    result.mark_failed(count);
    return result;
  }
  result.bytes_ = bytes_.subspan(offset_, count);
  offset_ += count;
  return result;
}

std::string_view ByteCursor::c_string(uint64_t limit) {
  if (failed_) return {};
  const size_t reach = limit < remaining() ? static_cast<size_t>(limit) : remaining();
  const auto* start = reinterpret_cast<const char*>(bytes_.data()) + offset_;
  const void* end = reach == 0 ? nullptr : std::memchr(start, 0, reach);
  if (end == nullptr) {
    mark_failed(reach + 1);
    return {};
  }
  const auto length = static_cast<size_t>(static_cast<const char*>(end) - start);
  offset_ += length + 1;
  return {start, length};
}

std::string_view ByteCursor::line() {
  if (failed_ || remaining() == 0) return {};
  const auto* start = reinterpret_cast<const char*>(bytes_.data()) + offset_;
  const void* end = std::memchr(start, '\n', remaining());
  if (end == nullptr) {
    const size_t length = remaining();
    offset_ = bytes_.size();
    return {start, length};
  }
  const auto length = static_cast<size_t>(static_cast<const char*>(end) - start);
  offset_ += length + 1;
  return {start, length};
}

void ByteCursor::seek(uint64_t offset) {
  if (failed_) return;
  if (offset > bytes_.size()) {
    mark_failed(offset - bytes_.size());
    return;
  }
  offset_ = static_cast<size_t>(offset);
}

void ByteCursor::align(uint64_t alignment) {
  const uint64_t past = offset_ & (alignment - 1);
  if (past != 0) skip(alignment - past);
}

void ByteCursor::mark_failed(uint64_t want) {
  if (failed_) return;
  failed_ = true;
  failed_offset_ = offset_;
  failed_want_ = want;
}

// Without fmt, as result.cc: the JVMTI agent takes in both, and fmt would bring exceptions there.
Error ByteCursor::error(std::string_view what, std::string where) const {
  std::array<char, 16> digits{};
  const char* const end = std::to_chars(digits.begin(), digits.end(), failed_offset_, 16).ptr;
  std::string text(what);
  text.append(": needs ").append(std::to_string(failed_want_)).append(" bytes at offset 0x");
  text.append(digits.data(), static_cast<size_t>(end - digits.data())).append(", ");
  text.append(std::to_string(bytes_.size() - failed_offset_)).append(" are there");
  return Error{ErrorKind::damaged, std::move(text), std::move(where), {}, 0};
}

namespace {
std::optional<uint64_t> parse_number(std::string_view text, int base) {
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the end is given
  const auto [stop, code] = std::from_chars(text.data(), end, value, base);
  if (code != std::errc{} || stop != end) return std::nullopt;
  return value;
}
}  // namespace

std::optional<uint64_t> parse_hex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parse_number(text, 16);
}

std::optional<uint64_t> parse_decimal(std::string_view text) {
  return parse_number(text, 10);
}

}  // namespace jitscope
