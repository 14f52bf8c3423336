// Unwind tables of code that keeps a frame pointer, for JITs that write none (V8 among them).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "formats/jitdump/jitdump.h"
#include "unwind/unwind.h"

namespace jitscope {

// `push rbp; mov rbp, rsp` near the start says so. Before it and at the returns behind `pop rbp`
// and `leave` the frame is that of a call; everywhere else the caller's is found by rbp. Empty:
// there is no such beginning. x86-64.
[[nodiscard]] std::vector<UnwindTable> frame_pointer_table(std::span<const std::byte> code);

// The tables of a dump's body: its own, or, where it has none (V8 writes empty ones), those of its
// frame pointer. Damaged ones count as none, and in `damaged`.
[[nodiscard]] std::vector<UnwindTable> unwind_of_load(const jitdump::Load& load, uint64_t& damaged);

}  // namespace jitscope
