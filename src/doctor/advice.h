// What to do about a reason for which a frame has no certain name: by the runtime, its version, and
// what the recording holds.
#pragma once

#include <string>

#include "code/code_body.h"
#include "code/no_name.h"
#include "runtimes/runtime_kind.h"

namespace jitscope {

// Whose code it is.
struct Program {
  // NOLINTNEXTLINE(google-explicit-constructor): a runtime is a program of which no more is known.
  Program(Runtime of) : runtime(of), kind(of) {}
  Runtime runtime = Runtime::unknown;
  RuntimeKind kind;
  bool names_missing = false;  // the folder of names that jitscope record left is not there
  bool followed = false;       // jitscope record looked for names, and left some
};

// "" when nothing helps.
[[nodiscard]] std::string advice_for(NoName reason, const Program& program);

}  // namespace jitscope
