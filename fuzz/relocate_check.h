// What must hold for a slot that is built for any bytes: it is the probe point, then instruction
// for instruction the same as the covered bytes, with the same absolute targets, then a jump to
// what follows them. Shared by the fuzz target and by the test that replays its corpus. Input:
// entry (8 bytes), distance of the slot (4, signed), flags (1: bit 0 = shared), the body.
#pragma once

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/byte_cursor.h"
#include "live_image/relocate.h"

namespace jitscope::fuzz {

struct Decoded {
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;

  bool decode(std::span<const std::byte> bytes) {
    ZydisDecoder decoder;
    return ZYAN_SUCCESS(
               ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
           ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(), &instruction,
                                               operands.data()));
  }
  // The absolute address that operand `index` names when it depends on the instruction's place.
  bool absolute(size_t index, uint64_t at, uint64_t& address) const {
    const ZydisDecodedOperand& operand = operands[index];
    const bool relative =
        (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand.imm.is_relative == ZYAN_TRUE) ||
        (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RIP);
    // Not ZydisCalcAbsoluteAddress: it objects where an address wraps around.
    if (!relative) return false;
    const int64_t distance =
        operand.type == ZYDIS_OPERAND_TYPE_MEMORY ? operand.mem.disp.value : operand.imm.value.s;
    address = at + instruction.length + static_cast<uint64_t>(distance);
    return true;
  }
};

inline std::string_view check_relocate(std::span<const std::byte> input) {
  ByteCursor cursor(input);
  const uint64_t entry = cursor.u64();
  const uint64_t slot = entry + static_cast<uint64_t>(static_cast<int64_t>(cursor.i32()));
  const uint64_t common = (cursor.u8() & 1) != 0 ? slot - 64 : 0;
  if (!cursor.ok()) return {};
  const auto body = cursor.rest();
  const auto built = build_slot(body, entry, slot, common);
  if (!built) {
    return built.error().what.empty() ? "refused without a reason" : std::string_view{};
  }
  if (built->code.size() > slot_stride) return "longer than the stride";
  if (built->covered < jump_length || built->covered > body.size()) return "covers too little";
  const std::span<const std::byte> code(built->code);

  size_t at = common != 0 ? 5 : probe_nop_length;
  Decoded moved;
  if (!moved.decode(code)) return "the probe point cannot be decoded";
  if (moved.instruction.length != at) return "the probe point has a wrong length";

  uint32_t offset = 0;
  for (uint32_t i = 0; i < built->instructions; ++i) {
    Decoded original;
    if (!original.decode(body.subspan(offset)) || !moved.decode(code.subspan(at))) {
      return "an instruction cannot be decoded";
    }
    if (original.instruction.mnemonic != moved.instruction.mnemonic ||
        original.instruction.operand_count != moved.instruction.operand_count) {
      return "another instruction";
    }
    for (size_t operand = 0; operand < original.instruction.operand_count; ++operand) {
      uint64_t before = 0;
      uint64_t after = 0;
      const bool was = original.absolute(operand, entry + offset, before);
      const bool is = moved.absolute(operand, slot + at, after);
      if (was != is || before != after) return "another target";
      if (was && original.operands[operand].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
          before - entry < built->covered) {
        return "jumps into the bytes to be replaced";
      }
    }
    offset += original.instruction.length;
    at += moved.instruction.length;
  }
  if (offset != built->covered) return "covers something else";
  uint64_t back = 0;
  if (!moved.decode(code.subspan(at)) || moved.instruction.mnemonic != ZYDIS_MNEMONIC_JMP ||
      !moved.absolute(0, slot + at, back) || back != entry + built->covered) {
    return "does not jump back";
  }
  return at + moved.instruction.length == code.size() ? std::string_view{}
                                                      : "something follows the jump back";
}

}  // namespace jitscope::fuzz
