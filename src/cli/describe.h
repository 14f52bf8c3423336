// All commands and options as one JSON text: what manual pages are made of (scripts/manual-pages).
#pragma once

#include "cli/options.h"

namespace jitscope {

// The exit status.
int print_description(const CLI::App& app);

}  // namespace jitscope
