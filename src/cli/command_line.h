// The commands of jitscope, and what is done with the words that follow its name.
#pragma once

#include <string>
#include <vector>

namespace jitscope {

// The exit status.
int run_command_line(const std::vector<std::string>& words);

}  // namespace jitscope
