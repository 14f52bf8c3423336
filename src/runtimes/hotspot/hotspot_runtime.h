// HotSpot, the JVM of OpenJDK: its row among the runtimes.
#pragma once

#include "runtimes/common/runtime_row.h"

namespace jitscope {

extern const RuntimeRow kHotspotRuntime;

}  // namespace jitscope
