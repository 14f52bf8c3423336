// Slots: a probe point, the moved instructions, the jump back. See relocate.h.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>

#include "live_image/relocate.h"

namespace jitscope {
namespace {

constexpr std::array probe_nop = {std::byte{0x0f}, std::byte{0x1f}, std::byte{0x40},
                                  std::byte{0x00}};
static_assert(probe_nop.size() == probe_nop_length);

// The most that relocation can give: jcc rel8 (2 bytes become 6) twice, then the longest
// instruction.
static_assert(6 + 6 + 15 <= max_relocated_length);
static_assert(5 + max_relocated_length + jump_length <= slot_stride);

Result<std::vector<std::byte>> encode_near(uint8_t opcode, uint64_t from, uint64_t to) {
  const auto distance = static_cast<int64_t>(to - (from + 5));
  if (distance < std::numeric_limits<int32_t>::min() ||
      distance > std::numeric_limits<int32_t>::max()) {
    return fail(ErrorKind::not_possible,
                fmt::format("{:#x} is out of reach of a jump from {:#x}", to, from), {},
                "the code image must lie within 2 GiB of the code it serves");
  }
  const auto value = static_cast<int32_t>(distance);
  std::vector<std::byte> code(5, std::byte{opcode});
  std::memcpy(code.data() + 1, &value, sizeof(value));
  return code;
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

Result<std::vector<std::byte>> encode_jump(uint64_t from, uint64_t to) {
  return encode_near(0xe9, from, to);
}

Result<std::vector<std::byte>> encode_call(uint64_t from, uint64_t to) {
  return encode_near(0xe8, from, to);
}

std::vector<std::byte> common_probe_point() {
  std::vector<std::byte> code(probe_nop.begin(), probe_nop.end());
  code.push_back(std::byte{0xc3});
  return code;
}

Result<Slot> build_slot(std::span<const std::byte> body, uint64_t entry, uint64_t slot,
                        uint64_t common) {
  Slot result;
  if (common == 0) {
    append(result.code, probe_nop);
  } else {
    JITSCOPE_ASSIGN(const std::vector<std::byte> call, encode_call(slot, common));
    append(result.code, call);
  }
  JITSCOPE_ASSIGN(const Relocated moved, relocate_entry(body, entry, slot + result.code.size()));
  append(result.code, moved.code);
  JITSCOPE_ASSIGN(const std::vector<std::byte> back,
                  encode_jump(slot + result.code.size(), entry + moved.covered));
  append(result.code, back);
  if (result.code.size() > slot_stride) {
    return fail(ErrorKind::not_possible, fmt::format("the slot needs {} bytes, {} are the most",
                                                     result.code.size(), slot_stride));
  }
  result.covered = moved.covered;
  result.instructions = moved.instructions;
  return result;
}

}  // namespace jitscope
