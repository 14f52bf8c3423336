// The functions of an x86-64 PE image's exception directory (.pdata): all that the image's tools
// need to unwind, so all but functions that call nothing and leave the stack alone. Format:
// Microsoft's "PE Format", "x64 exception handling". No system calls.
//
// Owns what it gives, 16 bytes for a row. Time: n log n for n rows, and a chain of at most 32 rows
// looked at for each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "formats/pe/pe_image.h"
#include "formats/pe/unwind_info.h"

namespace jitscope {

// A function lies in one piece or more (hot and cold, or shrink-wrapped): each has a row.
struct RuntimeFunction {
  uint32_t function = 0;  // where the function begins that this is a piece of
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t unwind = 0;  // RVA of its UNWIND_INFO, see unwind_info.h

  [[nodiscard]] PeFunctionRow row() const { return {begin, end, unwind}; }
};

class RuntimeFunctions {
 public:
  // Empty for an image without the directory and for other machines; damaged: it is not all in the
  // file. Rows that are empty are left out, one that overlaps the next ends there.
  static Result<RuntimeFunctions> parse(const PeImage& image);

  [[nodiscard]] std::span<const RuntimeFunction> all() const { return rows_; }
  [[nodiscard]] const RuntimeFunction* at(uint32_t rva) const;

 private:
  std::vector<RuntimeFunction> rows_;
};

}  // namespace jitscope
