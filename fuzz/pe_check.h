// What must hold for the headers and tables of any PE image; shared by the fuzz target and by the
// test that replays its corpus. Empty: all is well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/pe/pe_image.h"
#include "pe_tables_check.h"

namespace jitscope::fuzz {

inline std::string_view check_pe(std::span<const std::byte> bytes) {
  const auto image = PeImage::parse(bytes);
  if (!image) return image.error().kind == ErrorKind::damaged ? "" : "an unexpected error";
  for (uint64_t offset = 0; offset < 0x20000; offset += 0x100) {
    const auto rva = image->headers().rva_of(offset);
    if (rva && image->headers().rva_of(offset) != rva) return "two answers";
  }
  if (image->headers().rva_of(uint64_t{1} << 33U) || image->headers().rva_of(UINT64_MAX))
    return "beyond every image";
  for (const PeSection& section : image->headers().sections) {
    if (image->from(section.rva).size() > bytes.size()) return "more bytes than the file has";
    (void)image->section_name(section);
    const auto offset = image->headers().offset_of(section.rva);
    if (offset && image->from(section.rva).empty() && *offset < bytes.size() &&
        section.mapped() != 0 && image->headers().section_at(section.rva) == &section) {
      return "an offset without bytes";
    }
  }
  return check_pe_tables(*image);
}

}  // namespace jitscope::fuzz
