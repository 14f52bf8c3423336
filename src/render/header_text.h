// What a recording says about itself, as lines that begin with '#': those of `perf report
// --header`.
#pragma once

#include <string>
#include <string_view>

#include "replay/recording_facts.h"

namespace jitscope {

// `captured`: when the file was written, as text; "" when that is not known.
[[nodiscard]] std::string recording_header_text(const perfdata::Header& header,
                                                std::string_view captured);

}  // namespace jitscope
