// How each runtime is made to write a perf map: the hint of every "nothing names this code".
#pragma once

#include <string>

#include "code/code_body.h"
#include "runtimes/runtime_kind.h"

namespace jitscope {

// "start node with --perf-basic-prof"
[[nodiscard]] std::string how_to_get_a_perf_map(Runtime runtime);
// The same for a process whose runtime the model does not know by name, but its files do.
[[nodiscard]] std::string how_to_get_a_perf_map(Runtime runtime, const RuntimeKind& kind);

}  // namespace jitscope
