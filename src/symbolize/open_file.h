// Opening files whose names come from a recording: regular files only, never waiting for a FIFO,
// never waking a device, and below another root where asked.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

struct OpenedFile {
  UniqueFd fd;
  struct stat status = {};
};

// `path` inside `root` ("" = "/"): symbolic links are followed, but stay inside the root.
Result<OpenedFile> open_regular_file(const std::string& path, const std::string& root = {});

}  // namespace jitscope
