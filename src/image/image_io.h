// Writing image files: errors that say what to do when a disk is full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace jitscope {

[[nodiscard]] Error image_io_error(std::string_view what, int code);
// All of it, in place.
Status write_image_at(int fd, uint64_t offset, std::span<const std::byte> bytes);

}  // namespace jitscope
