// Unwind tables of code that keeps a frame pointer, for JITs that write none (V8 among them).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "image/unwind.h"

namespace jitscope {

// `push rbp; mov rbp, rsp` near the start says so. Before it and at the returns behind `pop rbp`
// and `leave` the frame is that of a call; everywhere else the caller's is found by rbp. Empty:
// there is no such beginning. x86-64.
[[nodiscard]] std::vector<UnwindTable> frame_pointer_table(std::span<const std::byte> code);

}  // namespace jitscope
