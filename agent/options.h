// What stands behind the agent's name: -agentpath:/…/libjitscope-agent.so=dir=/var/dumps
//
// `dir=` takes the whole rest, so that a path may hold any character.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace jitscope::agent {

struct Options {
  std::string directory;  // where the dump goes; "": the default
};

// Errors: usage.
Result<Options> parse_options(std::string_view text);

// Whether a command line or a variable such as JAVA_TOOL_OPTIONS turns DebugNonSafepoints off,
// which HotSpot turns on when an agent listens from the start. Words end at blanks and NULs.
[[nodiscard]] bool turns_off_non_safepoints(std::string_view words);

}  // namespace jitscope::agent
