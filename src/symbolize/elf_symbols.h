// Function symbols of one ELF file, by address. libelf; .symtab where there is one, else .dynsym.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jitscope {

class ElfSymbols {
 public:
  static Result<ElfSymbols> open(const std::string& path);

  // The virtual address (as in the file's program headers) of a file offset in an executable
  // segment.
  [[nodiscard]] std::optional<uint64_t> address_of_offset(uint64_t file_offset) const;
  // The demangled name of the function that holds a virtual address; "" when there is none.
  [[nodiscard]] std::string name_at(uint64_t address) const;

 private:
  struct Segment {
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t address = 0;
  };
  struct Symbol {
    uint64_t address = 0;
    uint64_t size = 0;
    uint32_t name = 0;  // in names_
    // Has no size of its own: `size` reaches to the end of its section, the next symbol ends it.
    bool open_ended = false;
  };
  std::vector<Segment> segments_;
  std::vector<Symbol> symbols_;
  std::string names_;
};

// Itanium C++ names in readable form; other texts, and names that would grow without bounds, as
// they are.
[[nodiscard]] std::string demangle(std::string_view name);

}  // namespace jitscope
