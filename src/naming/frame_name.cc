#include "naming/frame_name.h"

#include "base/printable.h"

namespace jitscope {

std::string symbol_text(const Frame& frame) {
  const bool jit = frame.kind == FrameKind::jit || frame.kind == FrameKind::runtime ||
                   frame.kind == FrameKind::interpreted;
  std::string text;
  append_printable(text, frame.method.empty() ? "[unknown]" : jit ? frame.raw : frame.method);
  return text;
}

}  // namespace jitscope
