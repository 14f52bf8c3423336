// The live images that a process has mapped: found by their content, whatever became of their
// files, and read from the process's own memory, which may hold anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "live_image/live_image.h"
#include "process/process.h"
#include "surgery/surgery.h"

namespace jitscope {

struct MappedImage {
  Mapping first;        // the mapping that begins with the image's header
  uint64_t length = 0;  // of all mappings of the file that follow each other
  UniqueFd file;        // to read; empty where it cannot be opened

  [[nodiscard]] uint64_t address() const { return first.start; }
};

[[nodiscard]] std::vector<MappedImage> find_mapped_images(const Process& process,
                                                          const std::vector<Mapping>& maps);

// Header and table.
Result<ParsedImage> read_mapped_image(const Process& process, const MappedImage& mapped);

// Our jumps that lie in the target now, as patches that put the entries back. An entry may stand in
// several records (it was tried again, or another body came to lie there): the jump that is there
// tells which one counts. `not_ours` counts records whose entry holds something else.
std::vector<Patch> jumps_in_place(const Process& process, uint64_t base, const ParsedImage& image,
                                  size_t& not_ours);

// A living jitscope works with it.
[[nodiscard]] bool is_in_use(const MappedImage& mapped);

}  // namespace jitscope
