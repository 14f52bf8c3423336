#include "profile/frame_name.h"

#include <fmt/format.h>

#include <algorithm>

namespace jitscope {

void append_on_one_line(std::string& out, std::string_view text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  if (std::ranges::none_of(text, control)) {
    out += text;
    return;
  }
  for (const char c : text) {
    if (control(c)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
}

std::string symbol_text(const Frame& frame) {
  const bool jit = frame.kind == FrameKind::jit || frame.kind == FrameKind::runtime ||
                   frame.kind == FrameKind::interpreted;
  std::string text;
  append_on_one_line(text, frame.method.empty() ? "[unknown]" : jit ? frame.raw : frame.method);
  return text;
}

}  // namespace jitscope
