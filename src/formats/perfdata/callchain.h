// Callchains of samples: leaf first, with markers that tell whose code the entries behind them are
// (linux: include/uapi/linux/perf_event.h, enum perf_callchain_context).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/perfdata/records.h"

namespace jitscope::perfdata {

constexpr bool is_marker(uint64_t value) {
  return value >= kContextMax;
}

constexpr CpuMode mode_of_marker(uint64_t marker, CpuMode before) {
  switch (marker) {
    case kContextHypervisor:
      return CpuMode::hypervisor;
    case kContextKernel:
      return CpuMode::kernel;
    case kContextUser:
      return CpuMode::user;
    case kContextGuestKernel:
    case kContextGuest:
      return CpuMode::guest_kernel;
    case kContextGuestUser:
      return CpuMode::guest_user;
    default:
      return before;
  }
}

// Where a walk along a chain came to its root's side.
struct ChainEnd {
  size_t marked = 0;                // entries up to the last marker, with it
  CpuMode mode = CpuMode::unknown;  // whose code those behind it are
};

[[nodiscard]] constexpr ChainEnd end_of(std::span<const uint64_t> chain, CpuMode mode) {
  ChainEnd end{0, mode};
  for (size_t i = 0; i < chain.size(); ++i) {
    if (is_marker(chain[i])) end = {i + 1, mode_of_marker(chain[i], end.mode)};
  }
  return end;
}

// run(mode, addresses) for each stretch without a marker, from the leaf on; none is empty. The
// first address of a run is where code was interrupted, the others are return addresses. `mode`: of
// what stands before the first marker.
template <typename Run>
constexpr ChainEnd for_each_run(std::span<const uint64_t> chain, CpuMode mode, Run&& run) {
  ChainEnd end{0, mode};
  for (size_t next = 0; next < chain.size();) {
    if (is_marker(chain[next])) {
      end.mode = mode_of_marker(chain[next++], end.mode);
      end.marked = next;
      continue;
    }
    size_t last = next + 1;
    while (last < chain.size() && !is_marker(chain[last])) ++last;
    run(end.mode, chain.subspan(next, last - next));
    next = last;
  }
  return end;
}

// Where the call of a return address is; where code was interrupted, the address itself.
constexpr uint64_t call_address(uint64_t ip, bool caller) {
  return caller && ip != 0 ? ip - 1 : ip;
}

}  // namespace jitscope::perfdata
