// Which jitscope this is.
#pragma once

#include <string>
#include <string_view>

namespace jitscope {

// "0.2.0"
[[nodiscard]] std::string_view version_number();
// Of the commit that it was built from, short, with "+" behind it where files had been changed
// since;
// "" where that is not known.
[[nodiscard]] std::string_view version_commit();
// "jitscope 0.2.0 (1a2b3c4d5e6f)"
[[nodiscard]] std::string version_text();

}  // namespace jitscope
