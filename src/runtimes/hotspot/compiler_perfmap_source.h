// CodeSource over `jcmd Compiler.perfmap` (JDK 17 and later): the last resort for a HotSpot JVM
// whose structures cannot be read. The JVM writes /tmp/perf-<pid>.map in its own mount namespace at
// every read(). Names only: no tiers, states, OSR marks or verified entries, so that nothing can be
// probed.
#pragma once

#include <memory>

#include "base/result.h"
#include "process/process.h"
#include "runtimes/common/runtime_row.h"

namespace jitscope {

// `process` must outlive the source. Asks the JVM once, so that what does not work shows here.
Result<std::unique_ptr<CodeSource>> open_compiler_perfmap_source(const Process& process,
                                                                 const RuntimeInfo& runtime);

}  // namespace jitscope
