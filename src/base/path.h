// Paths as text.
#pragma once

#include <string_view>

namespace jitscope {

// "/usr/lib/libc.so.6" -> "libc.so.6".
[[nodiscard]] constexpr std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace jitscope
