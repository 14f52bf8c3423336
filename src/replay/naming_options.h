// How a recording is to be named: what the user says beyond the recording itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace jitscope {

struct NamingOptions {
  // jitdump files, or folders that hold some, besides those that the recording's mappings tell.
  std::vector<std::string> jitdumps;
  // Perf maps given by hand, by pid as the recording has it.
  std::map<uint32_t, std::string> perf_maps;
  // "FILE=PATH[:base=file|rva|absolute]" (formats/perfmap/offline_map.h).
  std::vector<std::string> offline_maps;
  // The same of a trace folder (naming/trace_folder.h): those of no use are not told.
  std::vector<std::string> folder_maps;
  // perfinfo-PID.map by pid (formats/perfmap/image_loads.h).
  std::map<uint32_t, std::string> image_loads;
  // The recorded processes' file system, "" = "/". Paths are looked up inside it.
  std::string root;
  bool inlined = false;     // inlined functions of ELF files, from DWARF
  bool jit_inlined = true;  // inlined methods of JIT code, where a recording knows them
  bool lines = false;       // file and line, from DWARF and jitdumps
  bool jit_only = false;    // names of JIT code alone: no symbols of ELF files and the kernel
  bool demangle = true;
  bool debuginfod = false;
  bool force = false;  // accept maps and dumps of foreign owners
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
};

}  // namespace jitscope
