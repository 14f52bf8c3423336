// Where the machine code of loaded BPF programs lies.
#pragma once

#include <cstdint>
#include <vector>

namespace jitscope {

struct BpfCode {
  uint64_t address = 0;
  uint32_t length = 0;
};
// By address. Empty where they may not be listed (CAP_SYS_ADMIN, or CAP_BPF) or where the kernel
// hides addresses.
[[nodiscard]] std::vector<BpfCode> list_bpf_code();

}  // namespace jitscope
