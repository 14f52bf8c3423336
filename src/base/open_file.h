// Opening files whose names come from strangers: regular files only, never waiting for a FIFO,
// never waking a device, and where asked below another root directory (a container's, a copied file
// system), which no name and no symbolic link leads out of.
//
// Relies on openat2 (Linux 5.6). Where it is missing nothing below another root is opened: a path
// put together as text would follow the links of that root in our own.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

struct OpenedFile {
  UniqueFd fd;
  struct stat status = {};
};

// "/proc/PID/root": what the process calls "/".
[[nodiscard]] std::string root_of(pid_t pid);

// `path` inside the directory `root`; "" or "/" = this process's own root. errno on failure.
[[nodiscard]] UniqueFd open_in_root(const std::string& root, const std::string& path, int flags);

// The same from an open directory (or AT_FDCWD), by the kernel's own rules (RESOLVE_ of
// linux/openat2.h).
[[nodiscard]] UniqueFd open_resolved(int directory, const std::string& path, int flags,
                                     uint64_t resolve);

// `path` inside `root`: symbolic links are followed, but stay inside the root.
Result<OpenedFile> open_regular_file(const std::string& path, const std::string& root = {});

// "" when all of the file may be read, else why not: "is 8.0 TiB large, of which 4.0 KiB are on the
// disk". A file with holes is of any size at no cost for who made it; file systems that compress
// keep more than a sixteenth.
[[nodiscard]] std::string why_too_large(const struct stat& status, uint64_t most);

}  // namespace jitscope
