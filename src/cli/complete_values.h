// Completion of the values of options: what they may be by their declaration, or what there is on
// this machine.
#pragma once

#include <string>

#include "cli/complete.h"

namespace jitscope {

// What else was typed.
struct CompletionContext {
  std::string pid;
  std::string recording = "perf.data";
  std::string map;  // a perf map
};

// Values that begin so.
[[nodiscard]] Completions complete_value(const CLI::Option::About& option,
                                         const CompletionContext& context,
                                         const std::string& begun);

}  // namespace jitscope
