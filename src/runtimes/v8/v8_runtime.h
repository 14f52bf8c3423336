// V8 (Node, Deno, Electron, Chrome): its row among the runtimes.
#pragma once

#include "runtimes/common/runtime_row.h"

namespace jitscope {

extern const RuntimeRow kV8Runtime;

}  // namespace jitscope
