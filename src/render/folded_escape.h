// Escapes of names in folded text (render/folded.h).
#pragma once

#include <string>
#include <string_view>

namespace jitscope {

[[nodiscard]] std::string folded_escape(std::string_view name);
[[nodiscard]] std::string folded_unescape(std::string_view text);

}  // namespace jitscope
