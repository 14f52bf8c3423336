// The directories of a target in which an image may lie, and which of them can be trusted with it.
//
// Other tools open an image by its path, and so does the target: in a directory where others may
// rename files, or below one, that path can come to mean another file at any time.
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "process/process.h"

namespace jitscope {

// /tmp, /var/tmp, /dev/shm, /run and the target's working directory, as the target names them.
[[nodiscard]] std::vector<std::string> image_folders(const Process& process);

// As seen from here: a target that sees the same files as we do gets plain paths, which every tool
// takes.
[[nodiscard]] std::string seen_from_here(const Process& process, const std::string& directory);

// A directory as the target sees it, to work with by descriptor. Only for the usual directories of
// our own root may a symbolic link be followed: in another root it would lead out of that root, and
// what leads to a working directory belongs to anybody.
[[nodiscard]] UniqueFd open_folder(const Process& process, const std::string& directory);

// Why a directory will not do for an image of `bytes`, "" when it will. `directory` and errno as
// open_folder left them.
[[nodiscard]] std::string folder_objection(const Process& process, const UniqueFd& directory,
                                           uint64_t bytes, bool accept_overlay);

}  // namespace jitscope
