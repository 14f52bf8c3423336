// Writing into the target: what patching and remote calls share.
#pragma once

#include <span>

#include "base/result.h"
#include "process/process.h"

namespace jitscope {

// Error target_gone when the address space that Process::open saw has ended (exit, exec). A few
// microseconds: made for the inside of a stop.
Status check_address_space(const Process& process);

// What a stop and a write need of the target beforehand: 64-bit, not jitscope itself, memory that
// may be written, the same process as at open().
Status check_target(const Process& process);

}  // namespace jitscope
