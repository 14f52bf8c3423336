// The values of a JVM's own options (-XX:...), out of the table that it describes: JVMFlag
// (Flag before JDK 11) with _name and _addr, JVMFlag::flags and numFlags.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

// The value of a bool option; nothing when this JVM has no option of that name. Errors: the table
// is not described, not readable, or makes no sense.
Result<std::optional<bool>> read_bool_flag(MemoryReader& memory, const VmStructs& structs,
                                           std::string_view name);

// Why this JVM may move compiled code to another place while it runs; "" when it does not. JVMs
// that can (JDK 26 on, which shows in the count of references that copies of an nmethod share) do
// so with -XX:+NMethodRelocation, which HotCodeHeap turns on. A copy of patched code would jump
// astray. `options_are_set`: the JVM was seen past reading its command line; until then its table
// has the defaults, which say nothing.
std::string why_code_may_move(MemoryReader& memory, const VmStructs& structs,
                              bool options_are_set = true);

}  // namespace jitscope::hotspot
