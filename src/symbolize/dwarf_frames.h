// DwarfFrames: source lines and inlined functions of one address, or of a whole function, from
// DWARF through libdw.
//
// Compile units are indexed by address once, the functions of a unit when the first address in it
// is asked for. Walks over the tree are by hand, not dwarf_getscopes(): a hostile file may nest or
// loop as it likes, so depth and the number of entries are bounded, and only forward steps count.
// Split DWARF (.dwo) is not followed.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/jitdump/code_scopes.h"
#include "symbolize/elf_file.h"

namespace jitscope {

class DwarfScopes;

class DwarfFrames {
 public:
  // nullptr: the file has no debug information that can be read.
  static std::unique_ptr<DwarfFrames> open(std::unique_ptr<ElfFile> file,
                                           const ElfImageOptions& options);
  ~DwarfFrames();
  DwarfFrames(const DwarfFrames&) = delete;
  DwarfFrames& operator=(const DwarfFrames&) = delete;

  // Innermost first; the last is the outer function, "" when DWARF does not name it. Empty when no
  // unit has the address.
  [[nodiscard]] std::vector<SourceFrame> at(uint64_t address);
  // The same for all of [begin, end), by the line tables and the trees of inlined functions
  // (dwarf_scopes.cc); offsets are from `begin`. No ranges: nothing is known, or DWARF is broken,
  // or it is more than is read.
  [[nodiscard]] CodeScopes scopes(uint64_t begin, uint64_t end);

 private:
  struct Range {
    uint64_t start = 0;
    uint64_t end = 0;
    Dwarf_Off entry = 0;  // the unit's or the function's offset
  };

  DwarfFrames() = default;
  void take_step();
  void index_units();
  void add_ranges(Dwarf_Die& entry, std::vector<Range>& ranges);
  const std::vector<Range>& functions_of(Dwarf_Die& unit);
  [[nodiscard]] static std::optional<Dwarf_Off> find(const std::vector<Range>& ranges,
                                                     uint64_t address);
  [[nodiscard]] std::string name_of(Dwarf_Die& function);

  // For scopes().
  struct Piece {
    std::optional<Dwarf_Off> entry;  // of the range that has all of the piece
    uint64_t end = 0;
  };
  struct Copies;
  [[nodiscard]] static Piece piece_at(const std::vector<Range>& ranges, uint64_t at, uint64_t end);
  bool read_rows(Dwarf_Die& unit, Dwarf_Lines*& lines, size_t& count);
  void add_scopes(Dwarf_Die& unit, std::optional<Dwarf_Off> function, uint64_t begin, uint64_t end,
                  DwarfScopes& out);
  void find_copies(Dwarf_Die function, Copies& copies);

  std::unique_ptr<ElfFile> file_;
  std::unique_ptr<ElfFile> shared_file_;
  Dwarf* dwarf_ = nullptr;
  Dwarf* shared_ = nullptr;
  bool readable_names_ = true;
  size_t work_left_ = 0;  // entries and ranges that may yet be read
  size_t rows_left_ = 0;  // of line tables
  std::unordered_set<Dwarf_Off> units_with_rows_;
  std::vector<Range> units_;
  std::unordered_map<Dwarf_Off, std::vector<Range>> functions_;  // by unit
  std::unordered_map<Dwarf_Off, std::string> scopes_;            // "app::", by function
};

}  // namespace jitscope
