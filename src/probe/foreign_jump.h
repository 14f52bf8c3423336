// Entries that another jitscope has patched: their jump leads into a live image. They are left as
// they are (its own end would not find its jump otherwise), and can carry a breakpoint all the
// same: that fires at the entry whatever lies there, before, during and after the other one's
// trace.
#pragma once

#include <cstdint>
#include <string_view>

#include "process/process.h"

namespace jitscope {

// Where the `jmp rel32` at an entry leads; 0: there is none.
[[nodiscard]] uint64_t jump_target(const Process& process, uint64_t entry);

[[nodiscard]] bool leads_into_live_image(const Process& process, uint64_t entry);

inline constexpr std::string_view foreign_jump_reason =
    "its entry leads into the live image of another jitscope (`jitscope expose --undo` takes back "
    "what a dead one left)";

}  // namespace jitscope
