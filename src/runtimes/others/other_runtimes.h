// Runtimes of which jitscope knows how their code gets names, and no more: one row for all.
#pragma once

#include "runtimes/common/runtime_row.h"

namespace jitscope {

extern const RuntimeRow kOtherRuntimes;

}  // namespace jitscope
