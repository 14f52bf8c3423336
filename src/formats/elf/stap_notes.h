// USDT probes as ELF notes (section .note.stapsdt, owner "stapsdt", type 3; systemtap's sys/sdt.h):
// three addresses and three NUL-terminated texts each. 64-bit little-endian only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace jitscope {

struct StapNote {
  uint64_t pc = 0;         // virtual address of the probe's nop, as linked
  uint64_t base = 0;       // address of .stapsdt.base, as linked: tells prelinking apart
  uint64_t semaphore = 0;  // 0: none
  std::string provider;
  std::string name;
  std::string arguments;  // "8@%rax -4@%edx ..."
};

// The notes of the section; a note that makes no sense ends the list, as its length cannot be
// trusted.
[[nodiscard]] std::vector<StapNote> parse_stap_notes(std::span<const std::byte> section);

}  // namespace jitscope
