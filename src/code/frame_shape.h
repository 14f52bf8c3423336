// FrameShape: what is known about the stack frame of a body, for those who unwind through it.
#pragma once

#include <cstdint>

namespace jitscope {

enum class FrameShape : uint8_t {
  unknown,  // only its instructions can tell
  fixed,    // HotSpot's compiled code and runtime stubs: the same size from prologue to epilogue
  interpreter,  // HotSpot's interpreter: rbp chain, the caller's sp is saved at rbp - 8
};

struct FrameInfo {
  FrameShape shape = FrameShape::unknown;
  // Fixed frames: bytes between the caller's sp (before its call pushed the return address) and
  // this frame's sp, return address included. 8: code that never touches the stack (vtable stubs).
  // 0: not known.
  uint32_t bytes = 0;
};

}  // namespace jitscope
