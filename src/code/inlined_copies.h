// InlinedCopies: where in a body's code a method was inlined, by way of which calls.
//
// Out of CodeScopes. A copy is one call path: the same calls (method and bytecode index) from the
// body's own method down to the inlined one. Code of what is inlined further inside belongs to the
// copy as well.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "code/code_body.h"
#include "formats/jitdump/code_scopes.h"

namespace jitscope {

struct InlinedCopy {
  uint32_t method = 0;  // index into the scopes' methods
  // The calls that lead to it, the body's own first: indices into the scopes' scopes.
  std::vector<uint32_t> callers;
  std::vector<uint32_t> lines;  // of the method itself, sorted; without those not known
  uint64_t ranges = 0;
  uint64_t bytes = 0;
  bool exact = true;  // all of its ranges are
};

// Copies of every method that `wanted` (asked once for each index) takes, in the order of the code.
// The body's own method is not inlined, whatever `wanted` says.
[[nodiscard]] std::vector<InlinedCopy> inlined_copies(
    const CodeScopes& scopes, const std::function<bool(uint32_t method)>& wanted);

// The parts of a name that was written by MethodName::display(), for Pattern.
[[nodiscard]] MethodName method_name_of_display(std::string_view display);

}  // namespace jitscope
