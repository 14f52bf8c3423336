// What a JVM calls itself, out of its memory.
#pragma once

#include <string>

#include "base/result.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

// "17.0.15+6-Debian-1deb12u1": Abstract_VM_Version::_s_vm_release (VM_Version before JDK 9).
// HotSpot 8 counts its own releases there (25.504-b01); of it the JDK's is given,
// "1.8.0_504-8u504-b08", which stands in its full description.
Result<std::string> read_vm_release(MemoryReader& memory, const VmStructs& structs);

}  // namespace jitscope::hotspot
