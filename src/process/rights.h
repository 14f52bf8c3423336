// What this user may do here, known without trying: so that nothing is offered that will be
// refused.
#pragma once

#include <cstdint>
#include <string>

#include "process/process.h"

namespace jitscope {

// "" when the kernel's probes (uprobes and breakpoints with eBPF programs) may be used, or what is
// missing.
[[nodiscard]] std::string why_no_probes();
// The same for a set of effective capabilities and a user namespace.
[[nodiscard]] std::string why_no_probes(uint64_t capabilities, bool initial_namespace);

// "" when threads of the process may be stopped and its memory changed, or why not.
[[nodiscard]] std::string why_no_surgery(const Process& process);

}  // namespace jitscope
