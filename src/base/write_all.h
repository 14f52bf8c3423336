// write_all: writes that go on after signals and partial writes, to the last byte.
//
// 0, or the errno that ended it, so that each caller words its own error; a write that takes
// nothing counts as ENOSPC.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <unistd.h>

namespace jitscope {

[[nodiscard]] inline int write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return 0;
}
[[nodiscard]] inline int write_all(int fd, std::string_view text) {
  return write_all(fd, std::as_bytes(std::span(text)));
}

// In place; the file's own offset stays.
[[nodiscard]] inline int write_all_at(int fd, uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return 0;
}

// All of it, read back; ENODATA where the file ends before.
[[nodiscard]] inline int read_all_at(int fd, uint64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : ENODATA;
    bytes = bytes.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return 0;
}

}  // namespace jitscope
