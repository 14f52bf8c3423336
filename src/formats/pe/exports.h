// What a PE image exports. Format: "The .edata Section" in Microsoft's "PE Format". No system
// calls.
//
// Owns what it gives. Time: n log n for n rows of its tables, and names of together at most as many
// bytes as the file has. Memory: 12 bytes for an export, and the names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/pe/name_arena.h"
#include "formats/pe/pe_image.h"

namespace jitscope {

struct PeExport {
  uint32_t rva = 0;
  std::string_view name;  // `#12`: has an ordinal only
};

class PeExports {
 public:
  // Code and data; what leads to another image (forwarders) is left out. Empty for an image without
  // exports; damaged: the tables are not in the file.
  static Result<PeExports> parse(const PeImage& image);

  // By address; of one address names before ordinals, the shortest first.
  [[nodiscard]] size_t size() const { return rows_.size(); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] PeExport operator[](size_t i) const {
    return {rows_[i].rva, names_.text(rows_[i].name)};
  }
  // For tables made of this one: where a name lies in the arena, and the arena.
  [[nodiscard]] NameArena::Name name_of(size_t i) const { return rows_[i].name; }
  [[nodiscard]] NameArena take_names() && { return std::move(names_); }

 private:
  struct Row {
    uint32_t rva = 0;
    NameArena::Name name;
  };
  std::vector<Row> rows_;
  NameArena names_;
};

}  // namespace jitscope
