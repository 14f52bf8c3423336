// Where a live image can lie so that the target can map it and other tools can open it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/process.h"

namespace jitscope {

struct ImageHome {
  UniqueFd fd;                           // read-write
  std::string path_in_target;            // "" for a memfd
  std::string path_here;                 // as this process and other tools here open it
  std::vector<std::string> passed_over;  // directories that would not do, with the reason
};

// Creates an empty file "jitscope-<nspid>-<start ticks>-<random>.so" in the first directory of the
// target's mount namespace that is writable, mounted exec, no overlay and has `bytes` free: /tmp,
// /var/tmp, /dev/shm, /run, the target's working directory; overlays after those. not_possible when
// none will do.
Result<ImageHome> create_image_file(const Process& process, uint64_t bytes);

// Files of this target's images that lie in those directories, as paths from here.
[[nodiscard]] std::vector<std::string> find_image_files(const Process& process);

// True for the file names that create_image_file gives.
[[nodiscard]] bool is_image_name(std::string_view path);

}  // namespace jitscope
