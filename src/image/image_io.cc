#include "image/image_io.h"

#include <cerrno>

#include "base/write_all.h"

namespace jitscope {

Error image_io_error(std::string_view what, int code) {
  Error error = system_error(what, {}, code);
  if (code == ENOSPC || code == EDQUOT) {
    error.hint = "make room on that file system, or put the image on another one";
  }
  return error;
}

Status write_image_at(int fd, uint64_t offset, std::span<const std::byte> bytes) {
  const int code = write_all_at(fd, offset, bytes);
  if (code != 0) return fail(image_io_error("cannot write the code image", code));
  return {};
}

}  // namespace jitscope
