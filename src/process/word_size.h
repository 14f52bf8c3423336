// Whether a process runs a 32-bit program, which jitscope neither changes nor traces.
#pragma once

#include <string_view>

#include "base/result.h"
#include "process/process.h"

namespace jitscope {

// By an auxiliary vector (/proc/PID/auxv): the size of the program headers that it names.
[[nodiscard]] bool is_32_bit_auxv(std::string_view auxv);
[[nodiscard]] bool is_32_bit(const Process& process);

// Error not_possible for a 32-bit program.
Status check_64_bit(const Process& process);

}  // namespace jitscope
