// open_all_code: what can be named of a live process's code that no ELF file has: what its JIT
// wrote, and what lies in images that are mapped.
#pragma once

#include <memory>

#include "base/result.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"
#include "runtimes/common/runtime_row.h"

namespace jitscope {

// Both, or the one there is; where there is none, why the JIT's code has no names.
Result<std::unique_ptr<CodeSource>> open_all_code(const Process& process, const RuntimeInfo& info,
                                                  const SourceOptions& options);
Result<std::unique_ptr<CodeSource>> open_all_code(const Process& process,
                                                  const SourceOptions& options);

}  // namespace jitscope
