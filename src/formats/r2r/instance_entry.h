// The signature of a method instance: what an instance entry and its name are read by (CoreCLR:
// READYTORUN_METHOD_SIG_*).
#pragma once

#include <cstdint>

#include "base/byte_cursor.h"
#include "base/result.h"

namespace jitscope {

struct R2rInstance {
  uint32_t flags = 0;
  uint32_t module = 0;  // UpdateContext: whose the tokens are; else 0, the image's own
  ByteCursor owner;     // the type; at its end when the method's own row tells it
  uint32_t row = 0;     // of a MethodDef or MemberRef
  uint32_t argument_count = 0;
  ByteCursor arguments;  // types

  [[nodiscard]] bool has_owner() const { return (flags & 0x40U) != 0; }
  [[nodiscard]] bool member_ref() const { return (flags & 0x10U) != 0; }
};

// The cursor is then at the entry's number. not_possible: flags of a later format.
[[nodiscard]] Result<R2rInstance> read_instance_signature(ByteCursor& cursor);

// The row of the function table that an entry names.
[[nodiscard]] uint32_t read_function_number(ByteCursor& cursor);

}  // namespace jitscope
