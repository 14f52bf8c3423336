// ByteWriter: little-endian numbers, LEB128 and texts one behind the other in memory, for tables of
// many megabytes: nothing is cleared that is written over, and growth moves no pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

namespace jitscope {

class ByteWriter {
 public:
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span<const unsigned char>(data_.get(), size_));
  }
  void clear() { size_ = 0; }

  void u8(uint64_t value) {
    room(1);
    data_[size_++] = static_cast<unsigned char>(value);
  }
  void u16(uint64_t value) { number(static_cast<uint16_t>(value)); }
  void u32(uint64_t value) { number(static_cast<uint32_t>(value)); }
  void u64(uint64_t value) { number(value); }
  void uleb(uint64_t value) {
    room(kLongestLeb);
    while (value >= 0x80U) {
      data_[size_++] = static_cast<unsigned char>(value | 0x80U);
      value >>= 7U;
    }
    data_[size_++] = static_cast<unsigned char>(value);
  }
  void sleb(int64_t value) {
    room(kLongestLeb);
    while (value < -64 || value > 63) {
      data_[size_++] = static_cast<unsigned char>(static_cast<uint64_t>(value) | 0x80U);
      value >>= 7;
    }
    data_[size_++] = static_cast<unsigned char>(static_cast<uint64_t>(value) & 0x7fU);
  }
  // A text and its end; a zero byte inside would end it early, so there is a '?' instead.
  void text(std::string_view text) {
    room(text.size() + 1);
    for (const char c : text) data_[size_++] = c == '\0' ? '?' : static_cast<unsigned char>(c);
    data_[size_++] = 0;
  }
  void raw(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    room(bytes.size());
    std::memcpy(data_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void zeros(size_t count) {
    room(count);
    std::memset(data_.get() + size_, 0, count);
    size_ += count;
  }
  void align(size_t alignment) { zeros((alignment - size_ % alignment) % alignment); }
  // Over what was written before.
  void patch_u32(size_t at, uint64_t value) {
    const auto word = static_cast<uint32_t>(value);
    std::memcpy(data_.get() + at, &word, sizeof(word));
  }

 private:
  static constexpr size_t kLongestLeb = 10;

  struct Free {
    void operator()(unsigned char* data) const { std::free(data); }
  };

  template <typename T>
  void number(T value) {
    room(sizeof(T));
    std::memcpy(data_.get() + size_, &value, sizeof(T));
    size_ += sizeof(T);
  }
  void room(size_t more) {
    if (capacity_ - size_ < more) grow(more);
  }
  void grow(size_t more) {
    const size_t wanted = (size_ + more) + (size_ + more) / 2 + 256;
    void* moved = std::realloc(data_.get(), wanted);
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(data_.release());
    data_.reset(static_cast<unsigned char*>(moved));
    capacity_ = wanted;
  }

  std::unique_ptr<unsigned char[], Free> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace jitscope
