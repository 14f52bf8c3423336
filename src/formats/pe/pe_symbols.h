// Names for the addresses of a PE image: its COFF symbols, else its exports, within the functions
// that the exception directory bounds. No system calls.
//
// Owns what it gives: nothing points into the file. Time: n log n for n symbols, exports, functions
// and sections; one binary search for an address. Memory: 20 bytes for each stretch of code between
// two of them, and the names (coff_symbols.h, exports.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/pe/coff_symbols.h"
#include "formats/pe/exports.h"
#include "formats/pe/name_arena.h"
#include "formats/pe/pe_image.h"
#include "formats/pe/runtime_functions.h"

namespace jitscope {

enum class PeNameKind : uint8_t {
  symbol,          // the image says so
  nearest_export,  // an export at or before the address, in the same function where that is known
  bounds,          // no name, only where a function begins and ends
};

struct PeSymbol {
  std::string_view name;
  uint32_t start = 0;
  uint32_t size = 0;
  PeNameKind kind = PeNameKind::bounds;
  bool part = false;  // no beginning of a function: a part of one that lies apart from it
};

class PeSymbols {
 public:
  // A table that is damaged is left out, see damage().
  static PeSymbols of(const PeImage& image);

  // Nothing: no code, or nothing is known of it.
  [[nodiscard]] std::optional<PeSymbol> at(uint32_t rva) const;
  // All by address, without overlaps. What lies in a cold part away from its function has the
  // function's name and begins where the part does.
  template <typename Visitor>
  void for_each(Visitor visit) const {
    for (const Row& row : rows_) visit(symbol_of(row));
  }
  [[nodiscard]] size_t size() const { return rows_.size(); }
  // Whether there are COFF symbols of code, and how many places of code are exported.
  [[nodiscard]] bool has_coff() const { return coff_ != 0; }
  [[nodiscard]] size_t exports() const { return exports_; }
  // What was left out, and why.
  [[nodiscard]] const std::vector<Error>& damage() const { return damage_; }

 private:
  struct Row {
    uint32_t start = 0;
    uint32_t end = 0;
    NameArena::Name name;
    PeNameKind kind = PeNameKind::bounds;
    bool part = false;
  };
  class Builder;

  [[nodiscard]] PeSymbol symbol_of(const Row& row) const {
    const NameArena& names = row.kind == PeNameKind::symbol ? symbol_names_ : export_names_;
    return {names.text(row.name), row.start, row.end - row.start, row.kind, row.part};
  }

  std::vector<Row> rows_;
  NameArena symbol_names_;
  NameArena export_names_;  // of size 0 where there is none
  size_t coff_ = 0;
  size_t exports_ = 0;
  std::vector<Error> damage_;
};

}  // namespace jitscope
