// The breakpoint backend: which bodies get one of the CPU's registers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "ebpf/bpf_session.h"
#include "probe/site.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

inline constexpr size_t breakpoint_registers = 4;

// One outcome a request, in order; `used` registers are taken already. Bodies at whose entry
// another jitscope has a jump are taken too: a breakpoint fires whatever lies at the entry.
// not_permitted for all of them.
Result<std::vector<SiteOutcome>> place_breakpoints(const Process& process, BpfSession& session,
                                                   const Snapshot& snapshot,
                                                   std::span<const SiteRequest> requests,
                                                   size_t used);

}  // namespace jitscope
