// Callchains of samples: leaf first, with markers that tell whose code the entries behind them are
// (linux: include/uapi/linux/perf_event.h, enum perf_callchain_context).
#pragma once

#include <cstdint>

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

// Where the call of a return address is; where code was interrupted, the address itself.
constexpr uint64_t call_address(uint64_t ip, bool caller) {
  return caller && ip != 0 ? ip - 1 : ip;
}

}  // namespace jitscope::perfdata
