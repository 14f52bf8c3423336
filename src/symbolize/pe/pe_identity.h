// PeIdentity: what tells a PE image from all others, as maps and tools spell it. No system calls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symbolize/pe/pe_file.h"

namespace jitscope {

struct PeIdentity {
  // 32 lower case hexadecimal digits each: .NET's MVID and the CodeView GUID as GUIDs are spelled.
  std::vector<std::string> guids;
  std::optional<std::string> code_view;  // which of them is that
  // Of the perf map that Crossgen2 wrote with the image: byte by byte. Not among `guids`.
  std::optional<std::string> perf_map_signature;

  static PeIdentity of(PeFile& image);
};

}  // namespace jitscope
