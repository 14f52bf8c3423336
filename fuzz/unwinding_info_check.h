// What must hold for any bytes given to parse_unwinding_info(); shared by the fuzz target and by
// the test that replays its corpus. Input: u16 bytes of code, u8 bytes of .eh_frame_hdr, the
// information. Empty: all is well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "unwind/unwind.h"

namespace jitscope::fuzz {

inline std::string_view check_unwinding_info(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  const uint64_t code_size = cursor.u16();
  const uint64_t header_size = cursor.u8();
  const auto info = cursor.rest();
  const auto tables = parse_unwinding_info(info, header_size, code_size);
  if (!tables) return {};
  if (tables->size() * 16 > info.size()) return "more tables than there is room for";
  for (const UnwindTable& table : *tables) {
    if (table.size == 0 || table.offset > code_size || table.size > code_size - table.offset) {
      return "a table outside the body";
    }
  }
  // What was understood can be written, and is understood again. Of several tables that begin at
  // one place one is written.
  const UnwindingInfo made = encode_unwinding_info(*tables, code_size);
  if (tables->empty()) return made.bytes.empty() ? "" : "tables out of nothing";
  if (made.bytes.size() % 8 != 0 || made.mapped_size != made.bytes.size()) return "odd sizes";
  const auto again =
      parse_unwinding_info(std::as_bytes(std::span(made.bytes)), made.header_size, code_size);
  if (!again) return "written again it is damaged";
  if (again->empty() || again->size() > tables->size()) return "written again there are others";
  for (const UnwindTable& table : *again) {
    bool found = false;
    for (const UnwindTable& one : *tables) {
      // Padding with DW_CFA_nop stands behind them now.
      const auto starts = [](const auto& longer, const auto& shorter) {
        return longer.size() >= shorter.size() &&
               std::ranges::equal(shorter, std::span(longer).first(shorter.size()));
      };
      found = found ||
              (one.offset == table.offset && one.size == table.size &&
               one.code_alignment == table.code_alignment &&
               one.data_alignment == table.data_alignment &&
               one.return_register == table.return_register && starts(table.initial, one.initial) &&
               starts(table.instructions, one.instructions));
    }
    if (!found) return "written again it is not the same";
  }
  return {};
}

}  // namespace jitscope::fuzz
