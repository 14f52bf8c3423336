// Steps through the entries of DWARF that end, whatever a hostile file says: only forward counts.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace jitscope {

// The next entry at the same level. DW_AT_sibling may point anywhere.
inline bool dwarf_next_sibling(Dwarf_Die& entry) {
  Dwarf_Die next;
  if (dwarf_siblingof(&entry, &next) != 0) return false;
  if (dwarf_dieoffset(&next) <= dwarf_dieoffset(&entry)) return false;
  entry = next;
  return true;
}

inline bool dwarf_first_child(Dwarf_Die& parent, Dwarf_Die& child) {
  return dwarf_child(&parent, &child) == 0 && dwarf_dieoffset(&child) > dwarf_dieoffset(&parent);
}

// What lies inside of a function and may hold copies of others.
inline bool may_hold_inlined(int tag) {
  return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
         tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_GNU_call_site ||
         tag == DW_TAG_call_site;
}

inline std::string dwarf_text(const char* name) {
  constexpr size_t longest = size_t{1} << 16;
  return name == nullptr ? std::string() : std::string(name, ::strnlen(name, longest));
}

inline std::optional<uint64_t> dwarf_number(Dwarf_Die& entry, unsigned int attribute) {
  Dwarf_Attribute value;
  Dwarf_Word word = 0;
  if (dwarf_attr(&entry, attribute, &value) == nullptr) return std::nullopt;
  if (dwarf_formudata(&value, &word) != 0) return std::nullopt;
  return word;
}

}  // namespace jitscope
