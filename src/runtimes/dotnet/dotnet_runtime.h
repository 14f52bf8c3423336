// .NET (CoreCLR): its row among the runtimes.
#pragma once

#include "runtimes/common/runtime_row.h"

namespace jitscope {

extern const RuntimeRow kDotnetRuntime;

}  // namespace jitscope
