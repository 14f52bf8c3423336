// Which backend a trace begins with, and why.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "probe/site.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

struct BackendChoice {
  Backend backend = Backend::trampoline;
  bool automatic = true;  // single bodies may fall back to another one
  std::string reason;
};

// not_possible where the one that is asked for would not be safe.
Result<BackendChoice> choose_backend(std::optional<Backend> asked_for, const CodeSource& source);

// not_possible where the CPU has not as many registers.
Status check_breakpoints_suffice(size_t bodies, const CodeSource& source);

}  // namespace jitscope
