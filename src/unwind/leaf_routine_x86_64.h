// Leaf routines among code of which nothing is known: stretches that never touch rsp or rbp, so
// that the return address is on top of the stack all the way. What ends with a return is one; what
// ends with an indirect jump is one when nothing runs into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/frame_flow_x86_64.h"

namespace jitscope {

// Looks for such routines wherever `flow` was not led yet, and follows them.
void follow_leaf_routines(std::span<const std::byte> code, FrameFlow& flow);

}  // namespace jitscope
