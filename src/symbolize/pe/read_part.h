// Bytes of a file that may shrink while it is read.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

namespace jitscope {

// As many as are there.
inline size_t read_part(int fd, uint64_t offset, std::span<std::byte> into) {
  size_t have = 0;
  while (have < into.size()) {
    const ssize_t got =
        ::pread(fd, into.data() + have, into.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  return have;
}

}  // namespace jitscope
