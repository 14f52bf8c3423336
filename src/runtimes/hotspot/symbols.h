// HotSpot Symbols: the length-prefixed texts of class names, method names and descriptors.
//
// symbol.hpp: a u2 length (JDK 8 and 13+), or the high half of _length_and_refcount (9 to 12), and
// the bytes behind it, in modified UTF-8 without a NUL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

struct SymbolLayout {
  FieldRef length;
  uint8_t length_shift = 0;
  uint32_t body = 0;

  static Result<SymbolLayout> of(const VmStructs& structs);
};

// add() all pointers, read() once, then get().
class SymbolBatch {
 public:
  explicit SymbolBatch(const SymbolLayout& layout) : layout_(layout) {}
  void add(uint64_t address);
  void read(MemoryReader& memory);
  // Null when it could not be read or is no text. Empty symbols are taken as damage: no name and no
  // descriptor is empty.
  [[nodiscard]] const std::string* get(uint64_t address) const;

 private:
  SymbolLayout layout_;
  std::unordered_map<uint64_t, std::string> texts_;  // empty = not read
};

}  // namespace jitscope::hotspot
