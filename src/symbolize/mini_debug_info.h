// MiniDebugInfo: the symbols of local functions that some distributions leave in a stripped file,
// as an ELF file in the section .gnu_debugdata, compressed with xz.
#pragma once

#include <memory>

#include "symbolize/elf_file.h"

namespace jitscope {

// nullptr: there is none, or it cannot be read.
[[nodiscard]] std::unique_ptr<ElfFile> mini_debug_info(const ElfFile& file);

}  // namespace jitscope
