// uprobe_multi links: one eBPF program on many offsets of one file, by one descriptor (kernel:
// kernel/trace/bpf_trace.c, bpf_uprobe_multi_link_attach; Linux 6.6, process filter right
// since 6.10).
//
// Single uprobe events cost about 0.1 s each when they are closed (the kernel waits for a grace
// period a uprobe), which a trace of 100 methods would feel; a link of 100 is gone in milliseconds.
// The libbpf of Debian 12 does not know these links, so this speaks to bpf(2) itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

// BPF_TRACE_UPROBE_MULTI: expected_attach_type of the program.
inline constexpr int uprobe_multi_attach_type = 48;

// By the kernel's version (6.10 or newer).
[[nodiscard]] bool kernel_has_uprobe_multi();

// All or none. `offsets` and `cookies` are pairs, of the same length. `pid` 0: in every process.
// Closing the descriptor detaches.
Result<UniqueFd> attach_uprobe_multi(int program_fd, const std::string& file,
                                     std::span<const uint64_t> offsets,
                                     std::span<const uint64_t> cookies, pid_t pid);

}  // namespace jitscope
