// StringSection: texts kept once each, one behind the other with a zero after each, as .debug_str,
// .debug_line_str, .strtab and .shstrtab hold them. A text is known by its offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "image/byte_writer.h"

namespace jitscope {

class StringSection {
 public:
  // The empty text lies at 0.
  StringSection() { bytes_.u8(0); }

  // The offset of a text. Zero bytes in it become '?', since a reader would end there.
  uint32_t add(std::string_view text);
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_.bytes(); }
  // More than 32-bit offsets can reach: what add() gave is not to be used.
  [[nodiscard]] bool too_large() const { return bytes_.size() > UINT32_MAX; }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t offset = 0;  // 0: free
  };
  [[nodiscard]] bool holds(uint32_t offset, std::string_view text) const;
  void grow();

  ByteWriter bytes_;
  std::vector<Slot> slots_;  // open addressing; a power of two, at most half full
  size_t used_ = 0;
};

}  // namespace jitscope
