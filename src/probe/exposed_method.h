// ExposedMethod: a method that other tools can probe, and ready-made command lines for them.
//
// Either its calls lead through a symbol of the live image, or its code is mapped from a file that
// is no ELF: then it is probed there, by the offset, in every process that maps the file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "code/code_body.h"

namespace jitscope {

struct ExposedMethod {
  std::string method;
  std::string symbol;
  std::string alias;                 // "" without ExposeOptions::aliases
  std::string file;                  // as tools here open it
  uint64_t offset = 0;               // of the probe instruction in the file
  bool in_place = false;             // that is the method's own entry, and the file has no symbol
  size_t bodies = 0;                 // alive now
  size_t sites = 0;                  // of those, leading through the probe point
  std::vector<std::string> reasons;  // why some do not
  // Ready-made command lines.
  std::string bpftrace;    // "" where it does not take the file
  std::string perf_probe;  // "" where perf probe cannot be used
  std::string perf_record;
  std::string tracefs;
};

// With the commands for a symbol of the live image; file, offset and symbol are set.
void add_symbol_commands(ExposedMethod& method, pid_t pid);
// With those for code at an offset of a file (an ELF file with images inside, or an image), whose
// calls are caught in this process. `name` is the method's, without parameters.
void add_file_commands(ExposedMethod& method, std::string_view name, pid_t pid, bool elf,
                       bool windows);

}  // namespace jitscope
