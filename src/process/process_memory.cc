// ProcessMemory: process_vm_readv (mm/process_vm_access.c), many ranges in one call.
#include <fmt/format.h>
#include <limits.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "process/process.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

constexpr size_t kBatch = 1024;  // UIO_MAXIOV, what the kernel takes in one call

// One call; goes over to a living thread when the leader has no memory any more.
ssize_t read_vector(pid_t& tid, pid_t pid, const iovec* local, size_t local_count,
                    const iovec* remote, size_t remote_count) {
  ssize_t got = ::process_vm_readv(tid, local, local_count, remote, remote_count, 0);
  if (got < 0 && errno == ESRCH) {
    const pid_t other = live_thread(pid);
    if (other == tid) {
      errno = ESRCH;
      return -1;
    }
    tid = other;
    got = ::process_vm_readv(tid, local, local_count, remote, remote_count, 0);
  }
  return got;
}

iovec remote_of(uint64_t address, size_t size) {
  return {reinterpret_cast<void*>(static_cast<uintptr_t>(address)), size};
}

}  // namespace

Status ProcessMemory::read(uint64_t address, std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    const iovec local{out.data() + done, out.size() - done};
    const iovec remote = remote_of(address + done, out.size() - done);
    const ssize_t got = read_vector(tid_, pid_, &local, 1, &remote, 1);
    if (got > 0) {
      done += static_cast<size_t>(got);
      continue;
    }
    const int code = got < 0 ? errno : EFAULT;
    const std::string where = fmt::format("pid {}, address {:#x}", pid_, address + done);
    if (code == EPERM) return fail(permission_error("reading the memory", pid_, code).at(where));
    if (code == ESRCH) {
      return fail(ErrorKind::target_gone, fmt::format("process {} is gone", pid_), where);
    }
    return fail(
        system_error(fmt::format("cannot read {} bytes of memory", out.size()), where, code));
  }
  return {};
}

void ProcessMemory::read_many(std::span<Range> ranges) {
  std::array<iovec, kBatch> local{};
  std::array<iovec, kBatch> remote{};
  size_t next = 0;
  while (next < ranges.size()) {
    const size_t count = std::min(kBatch, ranges.size() - next);
    for (size_t i = 0; i < count; ++i) {
      const Range& range = ranges[next + i];
      local[i] = {range.out.data(), range.out.size()};
      remote[i] = remote_of(range.address, range.out.size());
    }
    const ssize_t got = read_vector(tid_, pid_, local.data(), count, remote.data(), count);
    if (got < 0 && errno != EFAULT && errno != EINVAL) {
      for (size_t i = next; i < ranges.size(); ++i) ranges[i].ok = false;
      return;
    }
    // The copy stops at the first range that fails: those before it are whole, that one is not.
    size_t left = got < 0 ? 0 : static_cast<size_t>(got);
    size_t whole = 0;
    while (whole < count && left >= ranges[next + whole].out.size()) {
      left -= ranges[next + whole].out.size();
      ranges[next + whole].ok = true;
      ++whole;
    }
    if (whole < count) {
      ranges[next + whole].ok = false;
      ++whole;
    }
    next += whole;
  }
}

}  // namespace jitscope
