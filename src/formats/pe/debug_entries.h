// What a PE image says of the files with its debug information: the debug directory (a PDB's or a
// build's identity, .NET's ReadyToRun perf map) and GNU's link to a split file. Format: "Debug
// Directory" in Microsoft's "PE Format"; type 21: dotnet/runtime's docs/design/specs/PE-COFF.md. No
// system calls.
//
// Time and memory: at most 256 rows of the directory are read, and the first entry of each kind is
// copied: names of together at most the file's size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "formats/pe/pe_image.h"

namespace jitscope {

struct PeDebugEntries {
  // "RSDS": of a PDB, or of GNU ld's --build-id, which has no path.
  struct CodeView {
    std::array<std::byte, 16> guid{};  // as in the file: the first three fields little-endian
    uint32_t age = 0;
    std::string path;
  };
  // "R2RM": the perf map that Crossgen2 wrote with the image.
  struct PerfMap {
    std::array<std::byte, 16> signature{};  // as the map spells it, byte by byte
    uint32_t version = 0;
    std::string name;
  };
  // .gnu_debuglink, as in ELF.
  struct DebugLink {
    std::string name;
    uint32_t crc = 0;  // of the whole file
  };

  std::optional<CodeView> code_view;
  std::optional<PerfMap> perf_map;
  std::optional<DebugLink> debug_link;

  // What is damaged is as if it were not there.
  static PeDebugEntries parse(const PeImage& image);
};

}  // namespace jitscope
