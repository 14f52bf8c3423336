// The debug information of a PE image (mingw's, Wine's own DLLs: DWARF in sections of its own) as
// an ELF file in memory, so that what reads DWARF of ELF files (symbolize/elf_image.h, libdw) reads
// it too. Addresses in it are image_base + RVA, as the compiler left them. No system calls.
#pragma once

#include <cstddef>
#include <vector>

#include "formats/pe/pe_image.h"

namespace jitscope {

// Empty: the image has no DWARF. At most a copy of the image's bytes.
[[nodiscard]] std::vector<std::byte> debug_elf(const PeImage& image);

}  // namespace jitscope
