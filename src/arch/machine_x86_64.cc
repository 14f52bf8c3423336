#include <elf.h>

#include <cstring>
#include <initializer_list>

#include "arch/machine.h"

namespace jitscope::machine {
namespace {

bool starts_with(std::span<const std::byte> code, std::initializer_list<unsigned> pattern) {
  if (code.size() < pattern.size()) return false;
  size_t at = 0;
  for (const unsigned value : pattern) {
    if (code[at++] != static_cast<std::byte>(value)) return false;
  }
  return true;
}

}  // namespace

const uint16_t elf_machine = EM_X86_64;
const unsigned perf_instruction_pointer = 8;  // PERF_REG_X86_IP
const std::byte trap_byte{0xcc};              // int3

bool begins_with_jump(std::span<const std::byte> code) {
  return starts_with(code, {0xe9});  // jmp rel32
}

uint64_t jump_target(uint64_t entry, std::span<const std::byte> code) {
  if (!begins_with_jump(code) || code.size() < jump_length) return 0;
  int32_t distance = 0;
  std::memcpy(&distance, code.data() + 1, sizeof(distance));
  return entry + jump_length + static_cast<uint64_t>(int64_t{distance});
}

bool begins_with_trap(std::span<const std::byte> code) {
  return starts_with(code, {0xcc});
}

bool is_hotspot_entry(std::span<const std::byte> code) {
  return starts_with(code, {0x89, 0x84, 0x24}) ||  // mov %eax,-disp32(%rsp): stack bang
         starts_with(code, {0x48, 0x81, 0xec}) ||  // sub $imm32,%rsp
         starts_with(code, {0x48, 0x83, 0xec}) ||  // sub $imm8,%rsp: frame of a leaf
         starts_with(code, {0x49, 0xba}) ||        // mov $imm64,%r10: class initialisation barrier
         starts_with(code, {0x55}) ||              // push %rbp
         starts_with(code, {0xe9}) || starts_with(code, {0x0f, 0x1f}) || starts_with(code, {0x90});
}

bool is_patchable_hotspot_entry(std::span<const std::byte> code) {
  return starts_with(code, {0x89, 0x84, 0x24}) ||  // mov %eax,-disp32(%rsp): stack bang
         starts_with(code, {0x48, 0x81, 0xec}) ||  // sub $imm32,%rsp
         starts_with(code, {0x49, 0xba}) ||        // mov $imm64,%r10: class initialisation barrier
         // JVMs that never patch entries (JDK 26 on) take the short form: sub $imm8,%rsp, and
         // behind it mov %rbp,disp8(%rsp). Both are moved, which surgery does only while no thread
         // stands between them.
         (starts_with(code, {0x48, 0x83, 0xec}) && code.size() > 4 &&
          starts_with(code.subspan(4), {0x48, 0x89, 0x6c, 0x24}));
}

}  // namespace jitscope::machine
