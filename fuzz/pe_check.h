// What must hold for the headers of any PE image; shared by the fuzz target and by the test that
// replays its corpus. Empty: all is well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/pe/pe_sections.h"

namespace jitscope::fuzz {

inline std::string_view check_pe(std::span<const std::byte> bytes) {
  const auto image = PeSections::parse(bytes);
  if (!image) return image.error().kind == ErrorKind::damaged ? "" : "an unexpected error";
  for (uint64_t offset = 0; offset < 0x20000; offset += 0x100) {
    const auto rva = image->rva_of(offset);
    // Offsets and sizes have 32 bits each.
    if (rva && *rva > (uint64_t{1} << 33U)) return "an address that no image has";
    if (rva && image->rva_of(offset) != rva) return "two answers";
  }
  if (image->rva_of(uint64_t{1} << 33U) || image->rva_of(UINT64_MAX)) return "beyond every image";
  return "";
}

}  // namespace jitscope::fuzz
