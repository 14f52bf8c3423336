// Moves the first instructions of a body to another address. What an instruction means must not
// change by the move: only those whose meaning does not depend on their place are copied, two kinds
// are re-encoded (rip-relative operands, conditional jumps), anything else is refused.
#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "live_image/branch_scan_x86_64.h"
#include "live_image/relocate.h"

namespace jitscope {
namespace {

constexpr std::string_view breakpoint_hint =
    "a hardware breakpoint needs no room at the entry: probe it with the breakpoint backend";

struct Instruction {
  uint32_t offset = 0;  // from the entry
  std::span<const std::byte> bytes;
  ZydisDecodedInstruction decoded;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;

  [[nodiscard]] std::span<const ZydisDecodedOperand> used() const {
    return std::span(operands).first(decoded.operand_count);
  }
  // The target of a relative branch or the address of a rip-relative operand.
  [[nodiscard]] uint64_t relative_to(uint64_t entry, int64_t distance) const {
    return entry + offset + decoded.length + static_cast<uint64_t>(distance);
  }
};

// The covered instructions: at most jump_length of them.
struct Covered {
  std::array<Instruction, jump_length> instructions;
  uint32_t count = 0;
  uint32_t length = 0;

  [[nodiscard]] std::span<const Instruction> all() const {
    return std::span(instructions).first(count);
  }
};

Error refuse(std::string_view why, uint64_t entry, uint32_t offset) {
  return Error{ErrorKind::not_possible, fmt::format("cannot lay a jump over the entry: {}", why),
               fmt::format("entry {:#x}+{}", entry, offset), std::string(breakpoint_hint), 0};
}

bool is_instruction_pointer(ZydisRegister reg) {
  return reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP || reg == ZYDIS_REGISTER_IP;
}

// jcc rel8 or rel32; not loop, jrcxz and the like, which have no long form.
bool is_conditional_jump(const ZydisDecodedInstruction& decoded) {
  if (decoded.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || !decoded.raw.imm[0].is_relative) {
    return false;
  }
  const bool short_form =
      decoded.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (decoded.opcode & 0xf0) == 0x70;
  const bool near_form =
      decoded.opcode_map == ZYDIS_OPCODE_MAP_0F && (decoded.opcode & 0xf0) == 0x80;
  return short_form || near_form;
}

bool has_prefix(const ZydisDecodedInstruction& decoded, uint8_t value) {
  const auto prefixes = std::span(decoded.raw.prefixes).first(decoded.raw.prefix_count);
  return std::ranges::any_of(prefixes, [&](const auto& prefix) { return prefix.value == value; });
}

// Why an instruction cannot be moved whatever its operands; nothing when it can.
std::optional<std::string_view> unmovable(const ZydisDecodedInstruction& decoded) {
  switch (decoded.meta.category) {
    case ZYDIS_CATEGORY_CALL:
      return "a call lies in its first 5 bytes";
    case ZYDIS_CATEGORY_RET:
      return "a return lies in its first 5 bytes";
    case ZYDIS_CATEGORY_UNCOND_BR:
      return "a jump lies in its first 5 bytes";
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
      return "a trap or system call lies in its first 5 bytes";
    default:
      break;
  }
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT:
      return "a trap or system call lies in its first 5 bytes";
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_XEND:
      return "a transaction lies in its first 5 bytes";
    default:
      break;
  }
  if (decoded.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) {
    return "a far branch lies in its first 5 bytes";
  }
  const bool jcc = is_conditional_jump(decoded);
  for (const auto& immediate : decoded.raw.imm) {
    if (immediate.size != 0 && immediate.is_relative && !jcc) {
      return "a loop or another branch without a long form lies in its first 5 bytes";
    }
  }
  if (decoded.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE && !jcc) {
    return "a branch lies in its first 5 bytes";
  }
  // Intel ignores it on a jump, AMD cuts rip to 16 bits.
  if (jcc && has_prefix(decoded, 0x66)) return "a jump with an operand-size prefix";
  return std::nullopt;
}

// What its entry says about a body that is not in its ordinary state.
std::optional<std::string_view> unusual_entry(std::byte first) {
  switch (std::to_integer<int>(first)) {
    case 0xe9:
    case 0xeb:
      return "the entry is a jump: the code is not entrant any more, or is already probed";
    case 0xe8:
      return "the entry is a call: this code is entered elsewhere (OSR), or is already probed";
    case 0xcc:
      return "the entry is a breakpoint (int3) of a debugger or another tracer";
    default:
      return std::nullopt;
  }
}

Status decode_covered(std::span<const std::byte> body, uint64_t entry, Covered& covered) {
  ZydisDecoder decoder;
  if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64))) {
    return fail(ErrorKind::not_possible, "the instruction decoder cannot be set up");
  }
  while (covered.length < jump_length) {
    if (covered.length >= body.size()) {
      return fail(refuse("the body ends before 5 bytes", entry, covered.length));
    }
    Instruction& next = covered.instructions[covered.count];
    const auto rest = body.subspan(covered.length);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
            &decoder, rest.data(), std::min<size_t>(rest.size(), ZYDIS_MAX_INSTRUCTION_LENGTH),
            &next.decoded, next.operands.data()))) {
      return fail(refuse("an instruction there cannot be decoded", entry, covered.length));
    }
    if (const auto reason = unmovable(next.decoded)) {
      return fail(refuse(*reason, entry, covered.length));
    }
    next.offset = covered.length;
    next.bytes = rest.first(next.decoded.length);
    covered.length += next.decoded.length;
    ++covered.count;
  }
  return {};
}

std::optional<int32_t> displacement(uint64_t target, uint64_t next_instruction) {
  const auto distance = static_cast<int64_t>(target - next_instruction);
  if (distance < std::numeric_limits<int32_t>::min() ||
      distance > std::numeric_limits<int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int32_t>(distance);
}

void append_i32(std::vector<std::byte>& code, int32_t value) {
  std::array<std::byte, sizeof(value)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(value));
  code.insert(code.end(), bytes.begin(), bytes.end());
}

Status move_conditional_jump(const Instruction& instruction, uint64_t entry, uint32_t covered,
                             uint64_t to, std::vector<std::byte>& code) {
  const uint64_t target = instruction.relative_to(entry, instruction.decoded.raw.imm[0].value.s);
  // At the entry itself the jump would be counted as one more call.
  if (target - entry < covered) {
    return fail(
        refuse("a branch there leads into the bytes to be replaced", entry, instruction.offset));
  }
  constexpr uint32_t length = 6;
  const auto distance = displacement(target, to + code.size() + length);
  if (!distance) {
    return fail(refuse("a jump's target is out of the slot's reach", entry, instruction.offset));
  }
  code.push_back(std::byte{0x0f});
  code.push_back(std::byte{0x80} | std::byte(instruction.decoded.opcode & 0x0f));
  append_i32(code, *distance);
  return {};
}

Status move_other(const Instruction& instruction, uint64_t entry, uint32_t covered, uint64_t to,
                  std::vector<std::byte>& code) {
  const ZydisDecodedInstruction& decoded = instruction.decoded;
  const ZydisDecodedOperand* relative = nullptr;
  for (const ZydisDecodedOperand& operand : instruction.used()) {
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && is_instruction_pointer(operand.reg.value)) {
      return fail(refuse("an instruction there reads its own address", entry, instruction.offset));
    }
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && is_instruction_pointer(operand.mem.base)) {
      relative = &operand;
    }
  }
  const size_t start = code.size();
  code.insert(code.end(), instruction.bytes.begin(), instruction.bytes.end());
  if (relative == nullptr) return {};

  // 32-bit addresses relative to eip wrap elsewhere; nobody emits them.
  if (relative->mem.base != ZYDIS_REGISTER_RIP || decoded.address_width != 64 ||
      decoded.raw.disp.size != 32) {
    return fail(refuse("an unusual rip-relative operand", entry, instruction.offset));
  }
  const uint64_t target = instruction.relative_to(entry, decoded.raw.disp.value);
  if (relative->mem.type != ZYDIS_MEMOP_TYPE_AGEN) {
    const uint64_t size = std::max<uint64_t>(relative->size / 8, 1);
    if (target - entry < covered || entry - target < size) {
      return fail(refuse("an instruction there uses the bytes to be replaced as data", entry,
                         instruction.offset));
    }
  }
  const auto distance = displacement(target, to + start + decoded.length);
  if (!distance) {
    return fail(
        refuse("a rip-relative operand is out of the slot's reach", entry, instruction.offset));
  }
  const int32_t value = *distance;
  std::memcpy(code.data() + start + decoded.raw.disp.offset, &value, sizeof(value));
  return {};
}

// Where a branch may lead to: starts of instructions, and the byte behind a lock prefix (glibc
// jumps over the prefix when there is one thread only).
CoveredBytes branch_targets(const Covered& covered) {
  CoveredBytes result{covered.length, 0};
  for (const Instruction& instruction : covered.all()) {
    result.starts |= 1U << instruction.offset;
    for (uint32_t at = 0; at < instruction.decoded.raw.prefix_count; ++at) {
      if (instruction.decoded.raw.prefixes[at].value == 0xf0) {
        result.starts |= 1U << (instruction.offset + at + 1);
      }
    }
  }
  return result;
}

}  // namespace

Result<Relocated> relocate_entry(std::span<const std::byte> body, uint64_t entry, uint64_t to) {
  if (body.empty()) return fail(refuse("the body is empty", entry, 0));
  if (const auto reason = unusual_entry(body.front())) return fail(refuse(*reason, entry, 0));

  Covered covered;
  JITSCOPE_TRY(decode_covered(body, entry, covered));
  const CoveredBytes targets = branch_targets(covered);
  if (targets.starts != 1) {  // more than the start of the first one
    if (const auto branch = find_branch_into(body, targets)) {
      return fail(
          refuse(fmt::format("a branch at +{:#x} leads into the bytes to be replaced", *branch),
                 entry, 0));
    }
  }

  Relocated result;
  result.covered = covered.length;
  result.instructions = covered.count;
  for (const Instruction& instruction : covered.all()) {
    if (is_conditional_jump(instruction.decoded)) {
      JITSCOPE_TRY(move_conditional_jump(instruction, entry, covered.length, to, result.code));
    } else {
      JITSCOPE_TRY(move_other(instruction, entry, covered.length, to, result.code));
    }
  }
  return result;
}

}  // namespace jitscope
