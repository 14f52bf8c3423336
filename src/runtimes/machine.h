// Which kind of CPU a process's runtime was built for: under an emulator (qemu-user) it is another
// than this machine's, and its code is data that no CPU runs.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "process/process.h"
#include "runtimes/detect.h"

namespace jitscope {

// The first bytes of an ELF file: "aarch64" and the like when it is for another CPU than this
// machine's; "" when it is not, or the bytes are no ELF file's.
[[nodiscard]] std::string foreign_machine(std::span<const std::byte> header);
// Of the runtime's library as it lies in the process's memory.
[[nodiscard]] std::string foreign_machine(const Process& process, const RuntimeInfo& runtime);

// Error not_possible for a runtime of another CPU: probes on its code would never fire.
Status check_machine(const Process& process, const RuntimeInfo& runtime);

}  // namespace jitscope
