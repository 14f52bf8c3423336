// How a frame is called where one line has one name: what `script` prints as its symbol.
#pragma once

#include <string>
#include <string_view>

#include "profile/profile.h"

namespace jitscope {

// `text` without anything that would end the line.
void append_on_one_line(std::string& out, std::string_view text);
// The source's spelling of JIT code, the method's name of everything else; "[unknown]". An
// ambiguous one carries no mark here.
[[nodiscard]] std::string symbol_text(const Frame& frame);

}  // namespace jitscope
