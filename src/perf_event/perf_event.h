// perf_event_open for the two kinds of event that probes sit on (kernel: Documentation/trace/
// uprobetracer.rst, kernel/events/{uprobes,hw_breakpoint}.c). The events are opened enabled, with
// no ring buffer: what happens at a hit is the attached eBPF program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

// A uprobe on `offset` of `file` (a path this process can open) for the process `pid`; 0: for all.
Result<UniqueFd> open_uprobe_event(const std::string& file, uint64_t offset, pid_t pid);

// An execution breakpoint on a virtual address, one event a CPU. At most 4 addresses at a time on
// x86-64, shared with debuggers; the error says so.
Result<std::vector<UniqueFd>> open_breakpoint_events(uint64_t address);

// kernel.perf_event_paranoid as text, "?" when it cannot be read: for hints.
[[nodiscard]] std::string perf_event_paranoid();

}  // namespace jitscope
