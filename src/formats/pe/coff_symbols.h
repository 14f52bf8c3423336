// The COFF symbols of a PE image that name code: what GNU ld leaves in images that are not
// stripped (mingw's, Wine's own). Format: "COFF Symbol Table" in Microsoft's "PE Format". No system
// calls.
//
// Owns what it gives. Time: n log n for n records of the table, and each byte of the string table
// once. Memory: 24 bytes for a symbol, at most once the string table and 8 bytes for a short name.
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

struct CoffSymbol {
  uint32_t rva = 0;
  std::string_view name;
  bool function = false;  // has a function's type; labels and symbols of assembly have none
  bool global = false;
};

class CoffSymbols {
 public:
  // Symbols of executable sections, without those that name sections, files and parts of
  // functions. Empty for an image without symbols; damaged: the table is not all in the file.
  static Result<CoffSymbols> parse(const PeImage& image);

  // By address; of one address first the best name: a global function, another function, then the
  // shortest, then the table's first.
  [[nodiscard]] size_t size() const { return rows_.size(); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] CoffSymbol operator[](size_t i) const {
    const Row& row = rows_[i];
    return {row.rva, names_.text(row.name), row.function, row.global};
  }
  // For tables made of this one: where a name lies in the arena, and the arena.
  [[nodiscard]] NameArena::Name name_of(size_t i) const { return rows_[i].name; }
  [[nodiscard]] NameArena take_names() && { return std::move(names_); }

 private:
  struct Row {
    uint32_t rva = 0;
    NameArena::Name name;
    bool function = false;
    bool global = false;
  };
  std::vector<Row> rows_;
  NameArena names_;
};

}  // namespace jitscope
