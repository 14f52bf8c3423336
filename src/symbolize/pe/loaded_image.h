// How files are loaded that hold PE images: which of an ELF file's bytes its own program headers
// load (what else is mapped of it may be an image of a single-file program), and which mappings of
// a file's beginning are an image's header in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "formats/pe/pe_image.h"

namespace jitscope {

struct FileSpan {
  uint64_t offset = 0;
  uint64_t size = 0;

  [[nodiscard]] bool holds(uint64_t at) const { return at >= offset && at - offset < size; }
};

// A file that may hold images: it is one, or an ELF file.
struct ImageHost {
  bool is_image = false;
  std::vector<FileSpan> loads;  // what an ELF file loads

  // Whether its own program headers load this: it is of no image inside.
  [[nodiscard]] bool loads_as_elf(uint64_t offset) const;
};

// Reads the file's beginning. Nothing when it is neither. Elf64_Ehdr, Elf64_Phdr.
[[nodiscard]] std::optional<ImageHost> image_host(int fd);

// A mapping of so many bytes of the file's beginning is no loaded image: sections lie where they do
// not belong. Of small sections there are some in the header's page, too.
[[nodiscard]] bool is_flat_view(const PeHeaders& headers, uint64_t length);

}  // namespace jitscope
