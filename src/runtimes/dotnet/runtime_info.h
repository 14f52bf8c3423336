// The version of a .NET runtime that is a part of its program (a single-file program, which maps no
// libcoreclr.so): in the variable DotNetRuntimeInfo, which such programs export for debuggers
// (dotnet/runtime: src/coreclr/debug/runtimeinfo/runtimeinfo.h).
#pragma once

#include <cstdint>
#include <string>

#include "process/memory_reader.h"
#include "process/process.h"

namespace jitscope {

// "8.0.11"; "before 8" where the variable has no version yet; "" when it is not there.
[[nodiscard]] std::string single_file_version(const Process& process);
// Of the variable at that address. For tests.
[[nodiscard]] std::string read_runtime_info(MemoryReader& memory, uint64_t address);

}  // namespace jitscope
