// Little-endian bytes put together field by field, with the padding that perf.data uses for texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace jitscope::perfdata::test {

class Bytes {
 public:
  Bytes& u8(uint8_t v) { return put(v); }
  Bytes& u16(uint16_t v) { return put(v); }
  Bytes& u32(uint32_t v) { return put(v); }
  Bytes& u64(uint64_t v) { return put(v); }
  Bytes& words(std::span<const uint64_t> values) {
    for (const uint64_t v : values) u64(v);
    return *this;
  }
  Bytes& append(std::span<const std::byte> bytes) {
    const size_t before = data_.size();
    data_.resize(before + bytes.size());
    if (!bytes.empty()) std::memcpy(data_.data() + before, bytes.data(), bytes.size());
    return *this;
  }
  Bytes& zeros(size_t count) {
    data_.resize(data_.size() + count);
    return *this;
  }
  Bytes& chars(std::string_view text) {
    return append(std::as_bytes(std::span(text.data(), text.size())));
  }
  // With its NUL, filled up to a multiple of eight as in the records.
  Bytes& text(std::string_view text) { return chars(text).zeros(8 - text.size() % 8); }
  // u32 length and padded text, as in the features.
  Bytes& header_text(std::string_view text) {
    const size_t room = (text.size() / 64 + 1) * 64;
    return u32(static_cast<uint32_t>(room)).chars(text).zeros(room - text.size());
  }
  [[nodiscard]] size_t size() const { return data_.size(); }
  [[nodiscard]] const std::vector<std::byte>& data() const { return data_; }

 private:
  template <typename T>
  Bytes& put(T value) {
    return append(std::as_bytes(std::span(&value, 1)));
  }
  std::vector<std::byte> data_;
};

}  // namespace jitscope::perfdata::test
