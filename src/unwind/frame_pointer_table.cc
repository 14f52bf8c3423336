#include "unwind/frame_pointer_table.h"

#include <algorithm>

#include "unwind/cfa_program.h"

namespace jitscope {
namespace {

constexpr uint8_t kDwarfRbp = 6;  // as DWARF numbers them
constexpr uint8_t kDwarfRsp = 7;
constexpr uint8_t kReturnAddress = 16;
constexpr size_t kFarthestPrologue = 256;
constexpr size_t kPushSize = 1;
constexpr size_t kPrologueSize = 4;

// 0: none there.
size_t return_behind(std::span<const std::byte> code, size_t at) {
  const auto byte = [&](size_t offset) { return std::to_integer<uint8_t>(code[at + offset]); };
  if (code.size() - at < 2 || (byte(0) != 0x5d && byte(0) != 0xc9)) return 0;
  if (byte(1) == 0xc3) return 1;
  return byte(1) == 0xc2 && code.size() - at >= 4 ? 3 : 0;
}

}  // namespace

std::vector<UnwindTable> frame_pointer_table(std::span<const std::byte> code) {
  constexpr std::byte push{0x55};
  constexpr std::byte rex{0x48};
  size_t prologue = 0;
  const auto sets_up = [&](size_t at) {
    if (code[at] != push || code[at + 1] != rex) return false;
    return (code[at + 2] == std::byte{0x89} && code[at + 3] == std::byte{0xe5}) ||
           (code[at + 2] == std::byte{0x8b} && code[at + 3] == std::byte{0xec});
  };
  const size_t end = std::min(code.size(), kFarthestPrologue);
  while (prologue + kPrologueSize <= end && !sets_up(prologue)) ++prologue;
  if (prologue + kPrologueSize > end) return {};

  UnwindTable table;
  table.size = code.size();
  CfaProgram initial;
  initial.cfa(kDwarfRsp, 8);
  initial.saved(kReturnAddress, 1);
  table.initial = initial.take();

  CfaProgram program;
  size_t told = 0;
  const auto tell_at = [&](size_t at) {
    program.advance(at - told);
    told = at;
  };
  tell_at(prologue + kPushSize);
  program.cfa_offset(16);
  program.saved(kDwarfRbp, 2);
  tell_at(prologue + kPrologueSize);
  program.cfa_register(kDwarfRbp);
  for (size_t at = prologue + kPrologueSize; at < code.size(); ++at) {
    const size_t size = return_behind(code, at);
    if (size == 0) continue;
    tell_at(at + 1);
    program.cfa(kDwarfRsp, 8);
    program.restored(kDwarfRbp);
    at += size;
    if (at + 1 >= code.size()) break;
    tell_at(at + 1);
    program.cfa(kDwarfRbp, 16);
    program.saved(kDwarfRbp, 2);
  }
  table.instructions = program.take();
  return {std::move(table)};
}

std::vector<UnwindTable> unwind_of_load(const jitdump::Load& load, uint64_t& damaged) {
  if (!load.unwind.empty()) {
    auto parsed = parse_unwinding_info(load.unwind, load.unwind_header_size, load.size);
    if (!parsed) ++damaged;
    if (parsed && !parsed->empty()) return std::move(*parsed);
  }
  if (load.code.size() != load.size) return {};
  return frame_pointer_table(load.code);
}

}  // namespace jitscope
