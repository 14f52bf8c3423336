// Paths as text.
#pragma once

#include <cstddef>
#include <string_view>

namespace jitscope {

// "/usr/lib/libc.so.6" -> "libc.so.6".
[[nodiscard]] constexpr std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The part before the last `up` ones: ".../8.0.1/libcoreclr.so", 1 -> "8.0.1"; "" above the first.
[[nodiscard]] constexpr std::string_view path_component(std::string_view path, unsigned up) {
  while (up-- > 0) {
    const size_t slash = path.rfind('/');
    path = path.substr(0, slash == std::string_view::npos ? path.size() : slash);
  }
  return base_name(path);
}

}  // namespace jitscope
