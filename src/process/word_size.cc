// By the auxiliary vector, in the program's own words: the executable itself may lie on a file
// system that does not answer, and nobody waits for that with probes in place.
#include "process/word_size.h"

#include <elf.h>
#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "process/tasks.h"

namespace jitscope {

bool is_32_bit_auxv(std::string_view auxv) {
  ByteCursor cursor(auxv);
  for (uint32_t tag = cursor.u32(); tag != AT_NULL && cursor.ok(); tag = cursor.u32()) {
    const uint32_t value = cursor.u32();
    // In the vector of a 64-bit program the upper half of the tag stands there: 0.
    if (tag == AT_PHENT) return value == sizeof(Elf32_Phdr);
  }
  return false;
}

bool is_32_bit(const Process& process) {
  const auto auxv = read_text_file(task_path(process.pid(), "auxv"), 1U << 16U);
  return auxv && is_32_bit_auxv(*auxv);
}

Status check_64_bit(const Process& process) {
  if (!is_32_bit(process)) return {};
  return fail(
      ErrorKind::not_possible,
      fmt::format("process {} ({}) is a 32-bit program", process.pid(), process.status().name),
      fmt::format("pid {}", process.pid()), "only 64-bit programs can be traced or changed");
}

}  // namespace jitscope
