// /proc/PID/mem (fs/proc/base.c, mem_rw): writes also where the page is not writable, by making a
// private copy; gives 0 when the address space has ended.
#include "process/write_memory.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "process/surgery.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

Error ended(const Process& process) {
  return Error{ErrorKind::target_gone,
               fmt::format("process {} has exited or became another program", process.pid()),
               fmt::format("pid {}", process.pid()), "", 0};
}

}  // namespace

Status check_address_space(const Process& process) {
  if (process.memory_fd() < 0) return process.check_same();
  std::byte byte{};
  if (::pread(process.memory_fd(), &byte, 1, 0x1000) == 0) return fail(ended(process));
  return {};
}

namespace {

// By the auxiliary vector, in the program's own words: the executable itself may lie on a file
// system that does not answer, and nobody waits for that with probes in place.
bool is_32_bit(pid_t pid) {
  const auto auxv = read_text_file(task_path(pid, "auxv"), 1U << 16U);
  if (!auxv) return false;
  ByteCursor cursor{std::string_view(*auxv)};
  for (uint32_t tag = cursor.u32(); tag != AT_NULL && cursor.ok(); tag = cursor.u32()) {
    const uint32_t value = cursor.u32();
    if (tag == AT_PHENT) return value == sizeof(Elf32_Phdr);
  }
  return false;
}

}  // namespace

Status check_target(const Process& process) {
  JITSCOPE_TRY(process.check_same());
  const std::string where = fmt::format("pid {}", process.pid());
  if (process.pid() == ::getpid()) {
    return fail(ErrorKind::not_possible, "a process cannot stop and change itself", where);
  }
  if (const auto stat = read_task_stat(process.pid(), process.pid());
      stat && (stat->flags & 0x00200000U) != 0) {  // PF_KTHREAD
    return fail(ErrorKind::not_possible,
                fmt::format("process {} ({}) is a kernel thread", process.pid(), stat->comm), where,
                "kernel threads run no code of a program");
  }
  if (is_32_bit(process.pid())) {
    return fail(
        ErrorKind::not_possible,
        fmt::format("process {} ({}) is a 32-bit program", process.pid(), process.status().name),
        where, "only 64-bit programs can be changed");
  }
  if (process.memory_fd() < 0) {
    return fail(permission_error("changing the memory", process.pid(), EACCES).at(where));
  }
  return {};
}

Status write_memory(const Process& process, uint64_t address, std::span<const std::byte> bytes) {
  const std::string where = fmt::format("pid {}, address {:#x}", process.pid(), address);
  if (process.memory_fd() < 0) {
    JITSCOPE_TRY(process.check_same());
    return fail(permission_error("changing the memory", process.pid(), EACCES).at(where));
  }
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::pwrite(process.memory_fd(), bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(address + done));
    if (put > 0) {
      done += static_cast<size_t>(put);
      continue;
    }
    if (put == 0) return fail(ended(process));
    const int code = errno;
    if (code == EINTR) continue;
    Error error = system_error("cannot write to the memory", where, code);
    if (code == EIO) {
      error.hint =
          "nothing is mapped there, or it is shared and read-only, or the kernel forbids "
          "such writes (proc_mem.force_override)";
    }
    return fail(std::move(error));
  }
  return {};
}

}  // namespace jitscope
