// What users of perf, BCC, bpftrace, strace and async-profiler type, and jitscope calls otherwise.
#pragma once

#include <string>
#include <vector>

namespace jitscope {

// A line with what to write instead, for the first of the words (behind the program's name) that is
// an option of such a tool; "" when none is. Asked when an option was not understood.
[[nodiscard]] std::string habit_hint(const std::vector<std::string>& words);

}  // namespace jitscope
