// PHP (opcache's JIT): its row among the runtimes.
#pragma once

#include "runtimes/common/runtime_row.h"

namespace jitscope {

extern const RuntimeRow kPhpRuntime;

}  // namespace jitscope
