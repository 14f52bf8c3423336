// Whether waiting for a compiled body makes sense.
#pragma once

#include "base/result.h"
#include "process/process.h"
#include "runtimes/common/runtime_row.h"

namespace jitscope {

// An error (not_possible) when the process's runtime interprets everything: a JVM with -Xint.
Status check_compiles(const Process& process, const RuntimeInfo& runtime);

}  // namespace jitscope
