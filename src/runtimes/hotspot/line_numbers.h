// LineNumbers: which line a bytecode index of a method is on, out of the ConstMethod's compressed
// line number table (method.cpp: CompressedLineNumberReadStream).
//
// Entries are differences to the one before: one byte of 5 bits bci and 3 bits line, or 0xff and
// two signed UNSIGNED5 numbers; a zero byte ends the table. They need not be sorted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtimes/hotspot/unsigned5.h"

namespace jitscope::hotspot {

class LineNumbers {
 public:
  LineNumbers() = default;
  // Nothing when the table has no end within the bytes, or an index or line that no class file
  // can have.
  static std::optional<LineNumbers> decode(std::span<const std::byte> table, Unsigned5 form);

  // The line as the JVM gives it (Method::line_number_from_bci): of the entry at this index, else
  // of the nearest before it; 0 when there is none.
  [[nodiscard]] uint32_t line_of(int32_t bci) const;
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    uint16_t bci;
    uint16_t line;
  };
  std::vector<Entry> entries_;  // by bci, those of one bci in the table's order
};

}  // namespace jitscope::hotspot
