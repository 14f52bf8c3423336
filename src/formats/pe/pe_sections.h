// The sections of a PE image (.NET ReadyToRun, Wine): which address, relative to the image's base,
// a byte of the file has in memory. No system calls.
//
// A loader maps each section of a file where its header says, not where it lies in the file: an
// address alone and the file offset of a mapping do not tell the base of the image, the sections
// do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace jitscope {

class PeSections {
 public:
  // So many bytes of a file's beginning hold all headers of a usual image.
  static constexpr size_t kHead = 64U << 10U;

  // damaged: no PE image, or its headers do not lie within `head`.
  static Result<PeSections> parse(std::span<const std::byte> head);
  // Nothing for what no section holds: padding, and what is appended to an image.
  [[nodiscard]] std::optional<uint64_t> rva_of(uint64_t file_offset) const;

 private:
  struct Section {
    uint64_t offset = 0;  // in the file
    uint64_t size = 0;    // in the file
    uint64_t rva = 0;
  };
  std::vector<Section> sections_;  // by offset; the headers are the first
};

}  // namespace jitscope
