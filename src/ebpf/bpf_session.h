// BpfSession: the kernel's side of a trace: sites that fire (uprobes on slots, hardware
// breakpoints), counted in the kernel and, when asked, sent as events with registers and stack.
//
// Counting and events are one eBPF program (bpf/probe.bpf.c); the site is the attach cookie.
// Uprobes are opened by path and offset for the target alone (a forked child loses them at its
// first hit); where the kernel can, all uprobes of one call share one link. Breakpoints are opened
// per CPU and filtered by process, so that threads that start later are covered without a gap and
// none is counted twice. Times are CLOCK_MONOTONIC nanoseconds.
//
// Needs root, or CAP_BPF and CAP_PERFMON (errors say which is missing). Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "process/process.h"

struct jitscope_call;  // probe_shared.h

namespace jitscope {

struct BpfSessionOptions {
  bool events = true;   // send each hit, not only count it
  bool stacks = false;  // with the top of the user stack
  // Decided in the kernel, so that what is not sent costs little more than what is only counted:
  uint64_t events_a_second = 0;  // of all sites together; 0: no limit
  uint64_t every = 0;            // one of so many hits of each site; 0: all
  uint32_t max_sites = 16384;
  uint32_t ring_bytes = 32U << 20U;  // a power of two
};

// What must hold in the target at a hit for it to be counted.
struct HitCheck {
  uint64_t address = 0;  // 0: none
  uint64_t value = 0;
  uint64_t mask = 0;
  // The entry holds a `jmp rel32` to [jump_low, jump_high): the runtime's own, by which the call
  // goes on to another body. A jump elsewhere is another tool's and does not keep the call from
  // counting.
  bool skip_if_jump = false;
  uint64_t jump_low = 0;
  uint64_t jump_high = UINT64_MAX;
};

struct UprobeSite {
  uint32_t site = 0;
  uint64_t offset = 0;  // in the file
  HitCheck check;
};

struct SiteCounts {
  uint64_t calls = 0;  // sent + lost + those that were not to be sent
  uint64_t sent = 0;
  uint64_t lost = 0;
  uint64_t stale = 0;
  uint64_t redispatched = 0;
};

struct CallEvent {
  const jitscope_call* call;
  std::span<const std::byte> stack;  // from call->sp on
};

class BpfSession {
 public:
  static Result<std::unique_ptr<BpfSession>> open(const Process& process,
                                                  const BpfSessionOptions& options);
  virtual ~BpfSession() = default;

  // `file` as this process sees it. All or none.
  virtual Status add_uprobes(const std::string& file, std::span<const UprobeSite> sites) = 0;
  Status add_uprobe(uint32_t site, const std::string& file, uint64_t offset,
                    const HitCheck& check) {
    const UprobeSite one{site, offset, check};
    return add_uprobes(file, {&one, 1});
  }
  virtual Status add_breakpoint(uint32_t site, uint64_t address, const HitCheck& check) = 0;
  // Takes the site's probe away; its counts stay readable. Unknown sites are ignored.
  virtual void remove(uint32_t site) = 0;
  [[nodiscard]] virtual SiteCounts counts(uint32_t site) const = 0;

  // Hands waiting events to `on_call`, waiting at most `wait` for the first. How many were handed.
  virtual Result<size_t> poll(std::chrono::milliseconds wait,
                              const std::function<void(const CallEvent&)>& on_call) = 0;
  // See HitSource::wait_for_hit.
  virtual int wait_for_call(bool sleeps) = 0;
};

}  // namespace jitscope
