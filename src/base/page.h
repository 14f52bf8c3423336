// The size of a page as the kernel maps files and anonymous memory, in bytes. x86-64 has no other.
#pragma once

#include <cstdint>

namespace jitscope {

inline constexpr uint64_t kPage = 4096;

}  // namespace jitscope
