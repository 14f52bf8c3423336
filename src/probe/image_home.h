// Where a live image can lie so that the target can map it and other tools can open it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/same_file.h"
#include "base/unique_fd.h"
#include "process/process.h"

namespace jitscope {

struct ImageHome {
  UniqueFd fd;       // read-write; holds the lock of image_lock.h
  UniqueFd folder;   // the directory that it lies in
  std::string name;  // there
  DeviceAndInode file;
  std::string path_in_target;            // "" for a memfd
  std::string path_here;                 // as this process and other tools here open it
  std::vector<std::string> passed_over;  // directories that would not do, with the reason
};

// Creates an empty file "jitscope-<nspid>-<start ticks>-<random>.so" in the first directory of the
// target's mount namespace that is writable, mounted exec, no overlay, has `bytes` free, and where
// no stranger can put another file in its place (image_folder.h): /tmp, /var/tmp, /dev/shm, /run,
// the target's working directory; overlays after those. Nobody but us may write the file.
// not_possible when none will do.
Result<ImageHome> create_image_file(const Process& process, uint64_t bytes);

// Takes the file's name away, where it still is that file's.
void remove_image_file(const ImageHome& home);

// Files of this target's images that lie in those directories, as paths from here.
[[nodiscard]] std::vector<std::string> find_image_files(const Process& process);

// Takes the names of those away that we made, but for what a living jitscope holds.
struct RemovedFiles {
  size_t removed = 0;
  size_t in_use = 0;  // left alone
};
RemovedFiles remove_image_files(const Process& process, bool even_in_use);

// "/proc/self/fd/N": names the open file to the kernel, whatever has become of its path.
[[nodiscard]] std::string path_of_descriptor(int fd);

// True for the file names that create_image_file gives.
[[nodiscard]] bool is_image_name(std::string_view path);

}  // namespace jitscope
