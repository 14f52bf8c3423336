// The compiler's notes about one nmethod: PcDescs and the scopes they point to, as bytes in, ranges
// and scopes out. No memory of a target is read here.
//
// A PcDesc says what the JVM knows at one offset of the code; offsets rise, a sentinel stands at
// each end. It points into the scopes' stream, where a scope is a row of UNSIGNED5 numbers: offset
// of the caller's scope (0: none), number of the method in the nmethod's metadata (from 1),
// bytecode index + 1, and what is not needed here (scopeDesc.cpp, pcDesc.hpp).
//
// Which form of UNSIGNED5 a JVM writes is told by the data: a stream is taken only if every chain
// ends, at strictly smaller offsets, in the nmethod's own method. Every chain ends in a caller 0,
// which is a byte 0x00 in the plain form and 0x01 in the other, where 0x00 never occurs: what was
// written in one form does not pass in the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/jitdump/code_scopes.h"
#include "runtimes/hotspot/unsigned5.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

struct PcDescLayout {
  FieldRef pc_offset;
  FieldRef scope_offset;
  uint32_t size = 0;
};

struct ScopeBytes {
  std::span<const std::byte> pc_descs;
  std::span<const std::byte> scopes;
  std::span<const std::byte> metadata;  // pointers
  uint64_t own_method = 0;              // Method*
  uint32_t code_bytes = 0;
};

struct DecodedScopes {
  struct Scope {
    uint32_t parent = CodeScopes::kNone;
    uint64_t method = 0;  // Method*
    int32_t bci = -1;     // -1: method entry; below: no place in the bytecode
  };
  std::vector<Scope> scopes;              // parents first
  std::vector<CodeScopes::Range> ranges;  // none of them marked exact
  size_t pc_descs = 0;                    // without the sentinels
};

// Nothing when any part contradicts another.
std::optional<DecodedScopes> decode_scopes(const PcDescLayout& layout, const ScopeBytes& bytes,
                                           Unsigned5 form);

}  // namespace jitscope::hotspot
