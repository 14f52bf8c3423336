// /proc/PID/mem (fs/proc/base.c, mem_rw): writes also where the page is not writable, by making a
// private copy; gives 0 when the address space has ended.
#include "surgery/write_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "process/tasks.h"
#include "process/word_size.h"
#include "surgery/surgery.h"

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
  if (!process.same_address_space()) return fail(ended(process));
  return {};
}

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
  JITSCOPE_TRY(check_64_bit(process));
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
