// The version of a running Node.js, from its own memory: `node::per_process::metadata` (exported by
// the node executable and by libnode.so, src/node_metadata.h of Node.js) begins with a std::string
// that holds "20.20.2".
#pragma once

#include <cstdint>
#include <string>

#include "process/process.h"

namespace jitscope {

// `elf_path` inside `root` ("": as seen from here), `base` its lowest mapping in the process. ""
// where it cannot be told: no such symbol (it is no Node.js, or stripped), memory that may not be
// read, another layout.
[[nodiscard]] std::string node_version(const Process& process, const std::string& root,
                                       const std::string& elf_path, uint64_t base);

// Reads a libstdc++ or libc++ std::string object at `address` that looks like a version; else "".
[[nodiscard]] std::string read_version_string(MemoryReader& memory, uint64_t address);

}  // namespace jitscope
