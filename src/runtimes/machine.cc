#include "runtimes/machine.h"

#include <elf.h>
#include <fmt/format.h>

#include <array>

#include "arch/machine.h"
#include "base/byte_cursor.h"

namespace jitscope {
namespace {

constexpr size_t kHeaderBytes = 20;  // up to e_machine

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_386:
      return "x86";
    case EM_ARM:
      return "arm";
    case EM_AARCH64:
      return "aarch64";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390x";
    case EM_RISCV:
      return "riscv";
    case EM_LOONGARCH:
      return "loongarch";
    default:
      return fmt::format("ELF machine {}", machine);
  }
}

}  // namespace

std::string foreign_machine(std::span<const std::byte> header) {
  constexpr uint32_t magic = 0x464c457f;  // "\x7fELF"
  ByteCursor cursor(header);
  if (cursor.u32() != magic) return {};
  cursor.skip(EI_DATA - SELFMAG);
  const bool big = cursor.u8() == ELFDATA2MSB;
  cursor.skip(kHeaderBytes - 2 - EI_DATA - 1);
  const uint8_t first = cursor.u8();
  const uint8_t second = cursor.u8();
  if (!cursor.ok()) return {};
  const uint8_t low = big ? second : first;
  const uint8_t high = big ? first : second;
  const auto number = static_cast<uint16_t>(high << 8U | low);
  return number == machine::elf_machine ? std::string() : machine_name(number);
}

std::string foreign_machine(const Process& process, const RuntimeInfo& runtime) {
  if (runtime.library_base == 0) return {};
  std::array<std::byte, kHeaderBytes> header{};
  if (!process.memory().read(runtime.library_base, header)) return {};
  return foreign_machine(header);
}

Status check_machine(const Process& process, const RuntimeInfo& runtime) {
  const std::string machine = foreign_machine(process, runtime);
  if (machine.empty()) return {};
  return fail(
      ErrorKind::not_possible,
      fmt::format("process {} runs a runtime for {}, by an emulator", process.pid(), machine),
      fmt::format("pid {}", process.pid()),
      "no CPU executes its code where it lies, so no probe on it would ever fire; "
      "`jitscope methods` names it, and probes work on a machine of that kind");
}

}  // namespace jitscope
