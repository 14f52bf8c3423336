// --header and --header-only: what a recording says about itself, above what is shown of it.
#pragma once

#include "base/result.h"

namespace jitscope::CLI {
class App;
class Option;
}  // namespace jitscope::CLI

namespace jitscope {

class Session;

struct HeaderArguments {
  bool header = false;
  bool only = false;
};

// `json` does not go together with it.
void add_header_options(CLI::App& command, HeaderArguments& arguments, CLI::Option* json);
// Prints it, when it was asked for. The recording's head is all that was read by then, which in a
// pipe is nothing: an error.
Status print_header(const Session& session, const HeaderArguments& arguments);

}  // namespace jitscope
