// Elf64_Nhdr and what systemtap puts behind it; see stap_notes.h.
#include "formats/elf/stap_notes.h"

#include <algorithm>

#include "base/byte_cursor.h"

namespace jitscope {

std::vector<StapNote> parse_stap_notes(std::span<const std::byte> section) {
  constexpr uint32_t kTypeStap = 3;
  std::vector<StapNote> notes;
  ByteCursor cursor(section);
  while (cursor.remaining() > 0) {
    const uint32_t name_size = cursor.u32();
    const uint32_t body_size = cursor.u32();
    const uint32_t type = cursor.u32();
    ByteCursor owner = cursor.slice(name_size);
    cursor.align(4);
    ByteCursor body = cursor.slice(body_size);
    if (!cursor.ok()) break;
    // The padding behind the last note may be missing.
    if (const size_t past = cursor.offset() % 4; past != 0) {
      cursor.skip(std::min<size_t>(4 - past, cursor.remaining()));
    }
    if (type != kTypeStap || owner.c_string() != "stapsdt") continue;
    StapNote note;
    note.pc = body.u64();
    note.base = body.u64();
    note.semaphore = body.u64();
    note.provider = body.c_string();
    note.name = body.c_string();
    note.arguments = body.c_string();
    if (body.ok()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace jitscope
