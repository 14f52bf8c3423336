// Two passes over the bytes behind the covered ones. The sweep decodes instructions and believes
// any target; it may lose its step in data (constant pools, jump tables). The second pass therefore
// takes every offset for a possible instruction, and, to keep false alarms rare, believes only
// targets at which an instruction begins.
#include "live_image/branch_scan_x86_64.h"

#include <Zydis/Zydis.h>

#include <algorithm>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

std::optional<uint64_t> sweep(std::span<const std::byte> body, const CoveredBytes& covered) {
  ZydisDecoder decoder;
  if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64))) {
    return std::nullopt;  // cannot happen: both constants are valid
  }
  for (uint64_t at = covered.length; at < body.size();) {
    const auto window =
        body.subspan(at, std::min<size_t>(body.size() - at, ZYDIS_MAX_INSTRUCTION_LENGTH));
    ZydisDecodedInstruction instruction;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, window.data(), window.size(),
                                                    &instruction))) {
      ++at;  // data between the code: try again one byte later
      continue;
    }
    for (const auto& immediate : instruction.raw.imm) {
      if (immediate.size == 0 || !immediate.is_relative) continue;
      const auto target = static_cast<int64_t>(at) + instruction.length + immediate.value.s;
      if (target > 0 && target < covered.length) return at;
    }
    at += instruction.length;
  }
  return std::nullopt;
}

// The target of what would be a branch at the cursor's start, from there; nothing when it is none.
std::optional<int64_t> branch_at(ByteCursor code) {
  const uint8_t opcode = code.u8();
  const auto reach8 = [&]() -> std::optional<int64_t> {
    const int64_t distance = code.i8();  // NOLINT(bugprone-signed-char-misuse): signed it is
    if (!code.ok()) return std::nullopt;
    return static_cast<int64_t>(code.offset()) + distance;
  };
  const auto reach32 = [&]() -> std::optional<int64_t> {
    const int64_t distance = code.i32();
    if (!code.ok()) return std::nullopt;
    return static_cast<int64_t>(code.offset()) + distance;
  };
  if (opcode == 0xeb || (opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3)) {
    return reach8();  // jmp, jcc, loop and jrcxz
  }
  if (opcode == 0xe8 || opcode == 0xe9) return reach32();
  if (opcode != 0x0f && opcode != 0xc7) return std::nullopt;
  const uint8_t second = code.u8();
  const bool jcc = opcode == 0x0f && second >= 0x80 && second <= 0x8f;
  const bool xbegin = opcode == 0xc7 && second == 0xf8;
  return jcc || xbegin ? reach32() : std::nullopt;
}

std::optional<uint64_t> any_offset(std::span<const std::byte> body, const CoveredBytes& covered) {
  for (uint64_t at = covered.length; at < body.size(); ++at) {
    const auto distance =
        branch_at(ByteCursor(body.subspan(at, std::min<size_t>(body.size() - at, 6))));
    if (!distance) continue;
    const int64_t target = static_cast<int64_t>(at) + *distance;
    if (target > 0 && target < covered.length && ((covered.starts >> target) & 1) != 0) return at;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> find_branch_into(std::span<const std::byte> body,
                                         const CoveredBytes& covered) {
  if (const auto found = sweep(body, covered)) return found;
  return any_offset(body, covered);
}

}  // namespace jitscope
