// open_code_source: the best source that works for a process, and the reason for each one that does
// not.
#pragma once

#include <memory>

#include "base/result.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"
#include "runtimes/common/runtime_row.h"

namespace jitscope {

// The runtime's own structures in memory, else a perf map, else what the runtime writes when asked.
// not_found when the process has no JIT code at all; not_possible (with the reason for each source
// tried) when it has but nothing names it.
Result<std::unique_ptr<CodeSource>> open_code_source(const Process& process,
                                                     const SourceOptions& options = {});
// The same, where it is known already what runs there.
Result<std::unique_ptr<CodeSource>> open_code_source(const Process& process,
                                                     const RuntimeInfo& runtime,
                                                     const SourceOptions& options);

}  // namespace jitscope
