// SymbolTable: which function of an ELF file an address lies in, as perf chooses it.
//
// Symbols are taken and ended by the rules of perf 6.1 (tools/perf/util/symbol-elf.c and symbol.c):
// functions, indirect functions and objects, labels in sections named "text" or "data"; a symbol
// without a size ends at the next one; of several at one address the best is kept (a size, not
// weak, global, fewer leading underscores, the longer readable name). The choice by name waits
// until somebody asks for the address: names are made readable one at a time, when they are shown.
// Where ranges overlap, the one that begins last has the address. PLT entries follow the
// relocations of the slots that they jump through.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolize/elf_file.h"

namespace jitscope {

class SymbolTable {
 public:
  explicit SymbolTable(bool readable_names) : readable_names_(readable_names) {}

  // The symbols of one table section (.symtab or .dynsym) of a file.
  void add(const ElfFile& file, const ElfFile::Section& section);
  // Stubs of .plt, .plt.sec and .plt.got; of the file that runs, not of its debug file.
  void add_plt(const ElfFile& file);
  // After the last add(): sorts, ends and covers. No add() after it.
  void finish();

  [[nodiscard]] bool cut() const { return cut_; }            // not all that there were are kept
  [[nodiscard]] bool has_code() const { return has_code_; }  // functions, not only stubs
  // Functions that only their own file can use: a table without any was cut down to what is
  // exported.
  [[nodiscard]] bool has_local_code() const { return has_local_code_; }
  [[nodiscard]] std::optional<SymbolHit> at(uint64_t address);
  // Narrows [low, high] around the address to where at() has the same answer.
  void narrow(uint64_t address, uint64_t& low, uint64_t& high) const;

 private:
  struct Symbol {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t limit = 0;          // the end of its section; of a stub, the function it calls
    const char* name = nullptr;  // in pools_, ends with NUL; nullptr: a stub known by `limit` only
    uint8_t binding = 0;
    bool stub = false;
    bool code = false;
    bool open = false;  // without a size of its own
  };
  // Symbols that begin at one address.
  struct Group {
    uint64_t start = 0;
    uint64_t end = 0;
    uint32_t first = 0;  // in symbols_
    uint32_t count : 31 = 0;
    uint32_t open : 1 = 0;
  };
  // From here to the next piece: `group`, or nothing.
  struct Piece {
    uint64_t start = 0;
    uint32_t group = 0;
  };
  struct Name {
    std::string readable;
    std::string raw;
    bool code = false;
  };
  // A slot of the global offset table: the symbol that goes there, or the function of an IRELATIVE.
  struct Slot {
    uint64_t address = 0;
    const char* name = nullptr;
    uint64_t target = 0;
  };

  // The names of a string table, kept; without bytes when there are none.
  const ElfFile::Text& keep(const ElfFile& file, uint64_t section);
  [[nodiscard]] std::vector<Slot> slots(const ElfFile& file, const ElfFile::Section& relocations);
  void add_stubs(const ElfFile& file, const ElfFile::Section& stubs,
                 const std::vector<Slot>& by_address, const std::vector<Slot>& by_index);

  void sort();
  void make_groups();
  void cover();
  // `budget`: how many bytes of names may yet be made readable for choices; then raw ones count.
  const Symbol& best(const Group& group, size_t& budget) const;
  bool first_is_better(const Symbol& a, const Symbol& b, size_t& budget) const;
  [[nodiscard]] std::string shown(const Symbol& symbol) const;
  [[nodiscard]] const Name& name_of(uint32_t group);

  bool readable_names_;
  struct Pool {
    const ElfFile::Section* copied_from = nullptr;
    ElfFile::Text names;
  };
  std::deque<Pool> pools_;
  bool has_code_ = false;
  bool cut_ = false;
  bool has_local_code_ = false;
  std::vector<Symbol> symbols_;
  std::vector<Group> groups_;
  std::vector<Piece> pieces_;
  std::unordered_map<uint32_t, Name> names_;  // by group, of those asked for
};

}  // namespace jitscope
