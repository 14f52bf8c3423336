// What a file is, in words, where only a regular one will do.
#pragma once

#include <sys/stat.h>

#include <string_view>

namespace jitscope {

[[nodiscard]] constexpr std::string_view file_kind(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a regular file";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFDIR:
      return "a directory";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    default:
      return "no regular file";
  }
}

}  // namespace jitscope
