// Native code that a program moved away from its file: node (--use-largepages), HHVM, ClickHouse
// and others copy their text to anonymous memory, of large pages, and map that over the file's own
// mapping. What lies there is the file's code, and its symbols are right.
//
// Told by the layout of the file's other mappings, and by the bytes: page by page as in the file.
#pragma once

#include <sys/types.h>

#include <vector>

#include "process/maps.h"

namespace jitscope {

// The mappings of the files that would be there, had nothing been moved: runs of equal pages of
// anonymous executable mappings. Nothing of a mapping most of which is other code. Cheap where no
// anonymous mapping lies between those of a file.
[[nodiscard]] std::vector<Mapping> find_copied_text(pid_t pid, const std::vector<Mapping>& maps);

}  // namespace jitscope
