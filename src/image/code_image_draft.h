// What a CodeImage keeps between its bodies, and how it is brought to an end (internal to it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "image/code_image.h"
#include "image/dwarf_info.h"
#include "image/dwarf_strings.h"
#include "image/elf_build_id.h"
#include "image/elf_layout.h"
#include "image/elf_output.h"

namespace jitscope {

struct ImageDraft {
  struct Body {
    uint64_t begin = 0;  // in the image: a virtual address
    uint64_t end = 0;
    uint64_t offset = 0;  // of its bytes in the file
    uint32_t name = 0;    // offsets in names
    uint32_t alias = 0;   // 0: none
    ContentDigest digest{};
    bool bytes = false;
  };
  struct Unwind {
    uint64_t place = 0;  // of the body
    UnwindTable table;
  };

  ImageDraft(ElfOutput file, CodeImageOptions wanted);
  [[nodiscard]] bool mapped() const { return options.layout == CodeImageOptions::Layout::mapped; }

  CodeImageOptions options;
  ElfOutput output;
  std::vector<Body> bodies;
  StringSection names;  // .strtab
  std::optional<DebugSections> debug;
  elf_layout::Packer packer;
  std::deque<Unwind> unwind;
  uint64_t with_bytes = 0;
  bool finished = false;
};

Result<ImageSummary> finish_image(ImageDraft& draft, uint64_t unwind_place);

// Code that came in no order goes where elf_layout wants it; `stretches` have their offsets.
Status move_code(ImageDraft& draft, std::span<const elf_layout::Stretch> stretches);

}  // namespace jitscope
