// ByteCursor: the only code that touches bytes from files and from other processes.
//
// A cursor is a span, an offset, a byte order and a sticky error: read ten fields, check once with
// ok(). A read beyond the end returns zero, leaves the offset where it was and marks the cursor as
// failed; every later read fails too. Nothing allocates from a size field: slice() first, then
// allocate what the slice holds. No ownership: the bytes must outlive the cursor.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace jitscope {

class ByteCursor {
 public:
  ByteCursor() = default;
  explicit ByteCursor(std::span<const std::byte> bytes, std::endian order = std::endian::little)
      : bytes_(bytes), order_(order) {}
  explicit ByteCursor(std::string_view text)
      : ByteCursor(std::as_bytes(std::span<const char>(text.data(), text.size()))) {}

  [[nodiscard]] bool ok() const { return !failed_; }
  [[nodiscard]] bool at_end() const { return offset_ >= bytes_.size(); }
  [[nodiscard]] size_t offset() const { return offset_; }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] size_t remaining() const { return bytes_.size() - offset_; }
  // Where the first failed read began and how many bytes it wanted; only meaningful when !ok().
  [[nodiscard]] size_t failed_offset() const { return failed_offset_; }
  [[nodiscard]] uint64_t failed_want() const { return failed_want_; }

  uint8_t u8() { return read<uint8_t>(); }
  uint16_t u16() { return read<uint16_t>(); }
  uint32_t u32() { return read<uint32_t>(); }
  uint64_t u64() { return read<uint64_t>(); }
  int8_t i8() { return static_cast<int8_t>(read<uint8_t>()); }
  int16_t i16() { return static_cast<int16_t>(read<uint16_t>()); }
  int32_t i32() { return static_cast<int32_t>(read<uint32_t>()); }
  int64_t i64() { return static_cast<int64_t>(read<uint64_t>()); }

  // An integer of any unsigned type in the cursor's byte order.
  template <std::unsigned_integral T>
  T read() {
    T value{};
    if (!require(sizeof(T))) return value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    if (order_ != std::endian::native) value = std::byteswap(value);
    return value;
  }

  // The next `count` bytes, without a copy; empty when they are not there.
  std::span<const std::byte> bytes(uint64_t count);
  // A cursor over the next `count` bytes; this cursor moves behind them. Failed when not there.
  ByteCursor slice(uint64_t count);
  // Characters up to a NUL byte (which is consumed); fails without one. `limit` bounds the search.
  std::string_view c_string(uint64_t limit = UINT64_MAX);
  // The rest up to (without) '\n'; the '\n' is consumed. No '\n': the rest, and at_end().
  std::string_view line();
  // All that is left.
  std::span<const std::byte> rest() { return bytes(remaining()); }

  void skip(uint64_t count) { (void)bytes(count); }
  // Absolute offset; beyond the end fails.
  void seek(uint64_t offset);
  // Forward to the next multiple of `alignment` (a power of two), counted from the cursor's start.
  void align(uint64_t alignment);
  void mark_failed(uint64_t want = 0);

  // "needs 8 bytes at offset 0x10, 3 are there", as an error of kind damaged at `where`.
  [[nodiscard]] Error error(std::string_view what, std::string where = {}) const;

 private:
  bool require(uint64_t count) {
    if (failed_ || count > bytes_.size() - offset_) {
      mark_failed(count);
      return false;
    }
    return true;
  }

  std::span<const std::byte> bytes_;
  size_t offset_ = 0;
  size_t failed_offset_ = 0;
  uint64_t failed_want_ = 0;
  std::endian order_ = std::endian::little;
  bool failed_ = false;
};

// Checked arithmetic for sizes and addresses that strangers give.
[[nodiscard]] constexpr std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}
[[nodiscard]] constexpr std::optional<uint64_t> checked_multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Hexadecimal digits (upper or lower case, optional 0x), the whole text; no sign, no overflow.
[[nodiscard]] std::optional<uint64_t> parse_hex(std::string_view text);
// Decimal digits, the whole text; no sign, no overflow.
[[nodiscard]] std::optional<uint64_t> parse_decimal(std::string_view text);

}  // namespace jitscope
