// What must hold for the unwind tables of any code; shared by the fuzz target and by the test that
// replays its corpus. Input: u8 shape, u16 bytes of the frame, u16 offset of the entry, the code.
// Empty: all is well.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "unwind/unwind.h"

namespace jitscope::fuzz {

inline std::string_view check_unwind_of_code(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  FrameInfo frame;
  frame.shape = static_cast<FrameShape>(cursor.u8() % 3);
  frame.bytes = cursor.u16();
  const uint64_t entry = cursor.u16();
  const auto code = cursor.rest();
  const auto tables = unwind_of_code(code, frame, entry);
  uint64_t end = 0;
  uint64_t instructions = 0;
  std::vector<PlacedUnwind> bodies;
  for (const UnwindTable& table : tables) {
    if (table.offset < end || table.size == 0 || table.size > code.size() - table.offset) {
      return "tables that overlap, or lie outside the code";
    }
    end = table.offset + table.size;
    instructions += table.instructions.size();
    bodies.push_back({0x10000, &table});
  }
  // No instruction of the code makes more than a few of a table's.
  if (instructions > 64 * code.size()) return "tables far larger than the code";
  if (frame.shape == FrameShape::interpreter && !code.empty() && entry < code.size() &&
      tables.size() != 1) {
    return "an interpreter without its table";
  }
  const auto placed = eh_frame(bodies, 0x2000000);
  if (!placed) return "tables that cannot be placed";
  const uint64_t header = (placed->header.size() + 7) / 8 * 8;
  if (header + placed->frame.size() != eh_frame_size(bodies)) return "of another size than told";
  // They are understood as they were meant.
  const UnwindingInfo info = encode_unwinding_info(tables, code.size());
  const auto again =
      parse_unwinding_info(std::as_bytes(std::span(info.bytes)), info.header_size, code.size());
  if (!again || again->size() != tables.size()) return "not understood again";
  for (size_t i = 0; i < tables.size(); ++i) {
    if ((*again)[i].offset != tables[i].offset || (*again)[i].size != tables[i].size) {
      return "understood as something else";
    }
  }
  return {};
}

}  // namespace jitscope::fuzz
