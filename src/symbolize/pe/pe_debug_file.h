// The split debug file of a PE image (objcopy --only-keep-debug, --add-gnu-debuglink): an image of
// the same sections without their bytes, with COFF symbols and DWARF. Looked for as that of an ELF
// file is (symbolize/debug_files.h): by the name in .gnu_debuglink, with its CRC.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "formats/pe/debug_entries.h"
#include "formats/pe/pe_image.h"
#include "symbolize/elf_image.h"

namespace jitscope {

struct PeDebugFile {
  std::string path;
  std::vector<std::byte> bytes;
  PeImage image;  // of the bytes
};

// Where an image lies, and where debug files do.
struct PeDebugSearch {
  std::string path;  // of the image, inside of the options' root; "": nothing is looked for
  ElfImageOptions options;
};

// Null: it is not there; `left` says why one that is there was left alone.
[[nodiscard]] std::unique_ptr<PeDebugFile> find_pe_debug_file(const PeImage& image,
                                                              const PeDebugEntries::DebugLink& link,
                                                              const PeDebugSearch& search,
                                                              std::string& left);

}  // namespace jitscope
