// What depends on the instruction set and is small: its numbers elsewhere, and the instructions
// that begin compiled methods. What is large (unwinding, relocation, calls into a target) has files
// named
// *_x86_64.cc in its own room. cmake/rooms.cmake takes those of the machine that is built for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace jitscope::machine {

// e_machine of ELF files for it.
extern const uint16_t elf_machine;
// Number of the instruction pointer in PERF_SAMPLE_REGS_USER (enum perf_event_x86_regs).
extern const unsigned perf_instruction_pointer;
// Fills memory that nobody may run: each unit of it traps.
extern const std::byte trap_byte;

// The jump that is patched over the entry of a method, in bytes.
inline constexpr uint32_t jump_length = 5;  // e9 rel32

// Whether code begins with such a jump; where it leads when it lies at `entry`. 0: no jump.
[[nodiscard]] bool begins_with_jump(std::span<const std::byte> code);
[[nodiscard]] uint64_t jump_target(uint64_t entry, std::span<const std::byte> code);
[[nodiscard]] bool begins_with_trap(std::span<const std::byte> code);

// First instructions of HotSpot's compiled methods (MacroAssembler::verified_entry, C1's
// build_frame), the jump of one that was made not entrant included: only for judging whether an
// entry was computed right. At least 8 bytes.
[[nodiscard]] bool is_hotspot_entry(std::span<const std::byte> code);
// Those that may be moved away and patched over while threads run.
[[nodiscard]] bool is_patchable_hotspot_entry(std::span<const std::byte> code);

}  // namespace jitscope::machine
