// LibjvmFile: what the ELF file of libjvm says: where its exported symbols lie, how far it was
// moved when it was loaded, and whether it has the USDT probes of code loading.
//
// The file is the target's own, opened as the target sees it; it may be a stranger's, so it is read
// with libelf and never mapped (a file that shrinks would raise SIGBUS).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

namespace jitscope::hotspot {

struct LibjvmFile {
  std::string path;         // inside the root
  struct stat status = {};  // of the file that was read
  // gHotSpotVM* symbols, addresses as linked.
  std::unordered_map<std::string, uint64_t> symbols;
  uint64_t first_address = 0;  // of the lowest PT_LOAD, as linked, rounded down to a page
  bool x86_64 = false;
  bool load_probes = false;  // hotspot:compiled__method__load and __unload

  // `path` inside `root`, "" = as seen from here.
  static Result<LibjvmFile> open(const std::string& path, const std::string& root = {});

  // Address in a process that has the library's lowest mapping at `base`.
  [[nodiscard]] std::optional<uint64_t> address(std::string_view symbol, uint64_t base) const;
};

}  // namespace jitscope::hotspot
