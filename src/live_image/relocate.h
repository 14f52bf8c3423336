// Moving the first instructions of a method into a slot, so that a 5-byte jump can lie over them.
//
// x86-64 by Zydis. What is understood: instructions without a position (any), rip-relative memory
// operands and conditional jumps whose target stays in reach (rel8 becomes rel32). Refused, with
// the reason:
// - calls (the return address would lie in the slot, which no stack walker of a runtime knows),
//   unconditional jumps, returns, loops and jrcxz, far branches, int3 and other traps, system
//   calls, transactions, and what Zydis does not decode, inside the covered bytes;
// - reads and writes of the covered bytes themselves;
// - when more than one instruction is covered: a branch of the body into the covered bytes. The
// body
//   is swept for it; beyond that, bytes at any offset that would be a branch to one of the covered
//   instructions count as one, so a refusal may be false, a branch is not missed. Jumps by table or
//   register are not seen. A single covered instruction has no inside that a compiler jumps to (a
//   lock prefix excepted, which counts as an instruction of its own).
// A branch of the body to the entry itself is no obstacle: it runs into the jump and is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/machine.h"
#include "base/result.h"

namespace jitscope {

using machine::jump_length;

struct Relocated {
  std::vector<std::byte> code;  // the moved instructions, without the jump back
  uint32_t covered = 0;         // bytes of the original that they stand for (>= jump_length)
  uint32_t instructions = 0;
};

// `body` are the bytes of the whole body from `entry` on (at least covered bytes; more lets
// branches into the covered bytes be found). `to` is where the code will lie.
Result<Relocated> relocate_entry(std::span<const std::byte> body, uint64_t entry, uint64_t to);

// An upper bound for Relocated::code for any entry, to lay slots out before their addresses are
// known.
inline constexpr uint32_t max_relocated_length = 48;

// e9 rel32 from `from` to `to`; an error when out of reach.
Result<std::vector<std::byte>> encode_jump(uint64_t from, uint64_t to);
// e8 rel32.
Result<std::vector<std::byte>> encode_call(uint64_t from, uint64_t to);

// Slots are laid out at multiples of this, so that none crosses a page; build_slot never exceeds
// it.
inline constexpr uint32_t slot_stride = 64;

// A slot: [nop4][moved instructions][jmp back]; with `common` != 0 `call common` stands in place of
// the nop. The whole slot's bytes for a slot at address `slot`. Where a uprobe on the common point
// fires, the stack is 8 bytes deeper than at the entry: [rsp] is the slot, [rsp+8] the caller.
struct Slot {
  std::vector<std::byte> code;
  uint32_t covered = 0;
  uint32_t instructions = 0;
};
Result<Slot> build_slot(std::span<const std::byte> body, uint64_t entry, uint64_t slot,
                        uint64_t common = 0);
// The probe nop: 4 bytes (0f 1f 40 00). Never 5: linux 6.18 turns a uprobe on a 5-byte nop into a
// call of a mapping that forked children do not have.
inline constexpr uint32_t probe_nop_length = 4;
// The common probe point of a method: nop4; ret (5 bytes).
[[nodiscard]] std::vector<std::byte> common_probe_point();

}  // namespace jitscope
