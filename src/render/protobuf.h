// The wire format of protocol buffers, writing only: varints and length-delimited fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace jitscope {

class ProtobufMessage {
 public:
  // A field with the default value is left out, as proto3 does.
  void number(uint32_t field, uint64_t value) {
    if (value != 0) present(field, value);
  }
  void present(uint32_t field, uint64_t value) {
    varint(bytes_, field << 3U);
    varint(bytes_, value);
  }
  // Repeated strings and messages keep empty elements.
  void bytes(uint32_t field, std::string_view value) {
    varint(bytes_, field << 3U | 2U);
    varint(bytes_, value.size());
    bytes_ += value;
  }
  void message(uint32_t field, const ProtobufMessage& value) { bytes(field, value.bytes_); }

  static void varint(std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7U) out += static_cast<char>(value | 0x80U);
    out += static_cast<char>(value);
  }

  void clear() { bytes_.clear(); }
  [[nodiscard]] const std::string& str() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace jitscope
