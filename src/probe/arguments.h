// The arguments of one hit, decoded from the registers by the compiled calling convention.
//
// HotSpot x86-64 (SharedRuntime::java_calling_convention): integers, longs and references in rsi,
// rdx, rcx, r8, r9, rdi, `this` first; the upper half of an int is undefined. What lies in xmm
// registers or on the stack is `unknown`, never guessed. V8 x86-64: all on the stack behind the
// return address: receiver, then the arguments; rax holds how many there are, receiver included.
// Small integers are shown as numbers, all else by its address.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "code/code_body.h"
#include "probe/hit.h"

namespace jitscope {

struct ArgumentValue {
  enum class Kind : uint8_t { unknown, integer, boolean, character, address } kind = Kind::unknown;
  std::string_view type;  // lives as long as the body's parameters
  int64_t integer = 0;    // integer, boolean (0 or 1), character (a UTF-16 unit)
  uint64_t address = 0;
};

[[nodiscard]] std::vector<ArgumentValue> decode_arguments(const CodeBody& body, const Hit& hit);

}  // namespace jitscope
