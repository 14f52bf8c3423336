// Why no call of a traced method comes: it is not compiled, it was inlined into its callers, or
// nobody calls it.
#pragma once

#include <string>
#include <vector>

#include "probe/methods.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

// A line for each method, of some when there are many. `snapshot` is the source's last one. Reads
// what was inlined where once, which takes a moment in a process with much code.
[[nodiscard]] std::vector<std::string> why_silent(const MethodSet& methods,
                                                  const Snapshot& snapshot, CodeSource& source);

}  // namespace jitscope
