// Which registers a sample of a 64-bit program can carry: arch/x86/include/uapi/asm/perf_regs.h.
#include <asm/perf_regs.h>

#include "sampling/perf_sampler.h"

namespace jitscope {

uint64_t user_register_mask() {
  constexpr uint64_t all = (uint64_t{1} << static_cast<unsigned>(PERF_REG_X86_64_MAX)) - 1;
  // The kernel refuses these four for a 64-bit program.
  constexpr uint64_t without = (uint64_t{1} << static_cast<unsigned>(PERF_REG_X86_DS)) |
                               (uint64_t{1} << static_cast<unsigned>(PERF_REG_X86_ES)) |
                               (uint64_t{1} << static_cast<unsigned>(PERF_REG_X86_FS)) |
                               (uint64_t{1} << static_cast<unsigned>(PERF_REG_X86_GS));
  return all & ~without;
}

}  // namespace jitscope
