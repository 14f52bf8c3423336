// The CPUs of this machine.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace jitscope {

// Numbers in a list like "0-3,8"; damaged when it makes no sense.
Result<std::vector<int>> parse_cpu_list(std::string_view text);
Result<std::vector<int>> list_online_cpus();
// Those that there may be ("possible"); at least the online ones.
[[nodiscard]] size_t count_possible_cpus();

}  // namespace jitscope
