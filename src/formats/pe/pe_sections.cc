// Section headers of a PE image (Microsoft's "PE Format"; the same for 32 and 64 bits); see
// pe_sections.h.
#include "formats/pe/pe_sections.h"

#include <algorithm>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

constexpr uint16_t kDosMagic = 0x5a4d;     // "MZ"
constexpr uint32_t kPeMagic = 0x4550;      // "PE\0\0"
constexpr uint64_t kPeOffsetAt = 0x3c;     // e_lfanew
constexpr uint64_t kSizeOfHeadersAt = 60;  // in the optional header
constexpr uint64_t kSectionHeaderSize = 40;

}  // namespace

Result<PeSections> PeSections::parse(std::span<const std::byte> head) {
  ByteCursor cursor(head);
  if (cursor.u16() != kDosMagic) return fail(ErrorKind::damaged, "no PE image");
  cursor.seek(kPeOffsetAt);
  cursor.seek(cursor.u32());
  if (cursor.u32() != kPeMagic) return fail(ErrorKind::damaged, "no PE image");
  cursor.skip(2);  // machine: .NET marks the system in it
  const uint16_t count = cursor.u16();
  cursor.skip(12);
  const uint16_t optional_size = cursor.u16();
  cursor.skip(2);
  ByteCursor optional = cursor.slice(optional_size);
  optional.seek(kSizeOfHeadersAt);
  const uint32_t headers = optional.u32();
  ByteCursor table = cursor.slice(count * kSectionHeaderSize);
  if (!cursor.ok()) return fail(cursor.error("the headers of a PE image"));
  if (!optional.ok()) return fail(optional.error("the optional header of a PE image"));

  PeSections out;
  out.sections_.reserve(count + size_t{1});
  out.sections_.push_back({0, headers, 0});
  for (uint16_t i = 0; i < count; ++i) {
    table.skip(12);  // name, size in memory
    Section section;
    section.rva = table.u32();
    section.size = table.u32();
    section.offset = table.u32();
    table.skip(16);
    if (section.size != 0) out.sections_.push_back(section);
  }
  std::ranges::stable_sort(out.sections_, {}, &Section::offset);
  return out;
}

std::optional<uint64_t> PeSections::rva_of(uint64_t file_offset) const {
  auto next = std::ranges::upper_bound(sections_, file_offset, {}, &Section::offset);
  if (next == sections_.begin()) return std::nullopt;
  const Section& section = *std::prev(next);
  if (file_offset - section.offset >= section.size) return std::nullopt;
  return section.rva + (file_offset - section.offset);
}

}  // namespace jitscope
