// How a frame is called where one line has one name: what `script` prints as its symbol.
#pragma once

#include <string>
#include <string_view>

#include "naming/frame.h"

namespace jitscope {

// The source's spelling of JIT code, the method's name of everything else; "[unknown]". An
// ambiguous one carries no mark here. Printable.
[[nodiscard]] std::string symbol_text(const Frame& frame);

}  // namespace jitscope
