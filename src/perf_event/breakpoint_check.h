// Whether the CPU's breakpoints fire at all. Some virtual machines take them and never raise one: a
// trace would count nothing and say nothing.
#pragma once

#include "base/result.h"

namespace jitscope {

// Tries one on a function of this process. not_possible when it did not fire; no error where it
// could not be tried (all registers are in use: setting another one will say so).
Status check_breakpoints_fire();

}  // namespace jitscope
