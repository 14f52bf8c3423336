// Instruction: one x86-64 instruction as Zydis decodes it, with registers by DWARF's numbers. For
// the files of this folder that follow what code does; they alone include it.
#pragma once

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "unwind/frame_flow_x86_64.h"

namespace jitscope {

// Zydis numbers general registers as instructions do: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8..
inline constexpr std::array<uint8_t, 8> kDwarfNumbers = {0, 2, 1, kRbx, kRsp, kRbp, 4, 5};
// DWARF's number of a general register, or of the one that holds it (ebp: rbp).
inline std::optional<uint8_t> number_of(ZydisRegister name) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15) return std::nullopt;
  const auto id = static_cast<uint8_t>(whole - ZYDIS_REGISTER_RAX);
  return id < kDwarfNumbers.size() ? kDwarfNumbers[id] : id;
}
inline bool is_whole(ZydisRegister name) {
  return name >= ZYDIS_REGISTER_RAX && name <= ZYDIS_REGISTER_R15;
}

struct Instruction {
  ZydisDecodedInstruction info;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;

  [[nodiscard]] bool is_register(size_t i) const {
    return i < info.operand_count && operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER;
  }
  // The whole register that an operand is.
  [[nodiscard]] std::optional<uint8_t> register_of(size_t i) const {
    if (!is_register(i) || !is_whole(operands[i].reg.value)) return std::nullopt;
    return number_of(operands[i].reg.value);
  }
  [[nodiscard]] std::optional<int64_t> immediate(size_t i) const {
    if (i >= info.operand_count || operands[i].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) {
      return std::nullopt;
    }
    return operands[i].imm.value.s;
  }

  [[nodiscard]] bool is(ZydisMnemonic mnemonic) const { return info.mnemonic == mnemonic; }
};

inline bool ends_flow(const ZydisDecodedInstruction& instruction) {
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
    case ZYDIS_MNEMONIC_RET:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_UD2:
      return true;
    default:
      return false;
  }
}

// Where a direct branch or call leads, from the start of the code.
inline std::optional<int64_t> target_of(const ZydisDecodedInstruction& instruction,
                                        uint64_t offset) {
  for (const auto& immediate : instruction.raw.imm) {
    if (immediate.size == 0 || !immediate.is_relative) continue;
    return static_cast<int64_t>(offset) + instruction.length + immediate.value.s;
  }
  return std::nullopt;
}

class InstructionDecoder {
 public:
  InstructionDecoder() {
    ready_ =
        ZYAN_SUCCESS(ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
  }
  // False where there is no instruction.
  bool decode(std::span<const std::byte> code, uint64_t offset, Instruction& out) const {
    if (!ready_ || offset >= code.size()) return false;
    const auto window =
        code.subspan(offset, std::min<size_t>(code.size() - offset, ZYDIS_MAX_INSTRUCTION_LENGTH));
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, window.data(), window.size(), &out.info,
                                               out.operands.data()));
  }

 private:
  ZydisDecoder decoder_;
  bool ready_ = false;
};

}  // namespace jitscope
