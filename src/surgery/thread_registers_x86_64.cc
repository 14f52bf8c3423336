// x86-64: registers through PTRACE_GETREGSET, and the system calls that answer a stop with EINTR.
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "surgery/thread_registers.h"

namespace jitscope {
namespace {

constexpr uint64_t kUserCode64 = 0x33;  // __USER_CS
// include/linux/errno.h; never seen by programs.
constexpr int64_t kRestartSys = -512;
constexpr int64_t kRestartNoIntr = -513;
constexpr int64_t kRestartNoHand = -514;
constexpr int64_t kRestartBlock = -516;

// Calls that wait and give -EINTR, not -ERESTART..., when a stop interrupts them (fs/eventpoll.c,
// ipc/sem.c, kernel/signal.c, fs/aio.c, io_uring; for sockets sock_intr_errno: those with a
// time-out set). None of them has done anything when it says EINTR, so each may be repeated.
constexpr auto kInterruptible = std::to_array<int64_t>({
    SYS_read,          SYS_write,          SYS_readv,        SYS_writev,          SYS_connect,
    SYS_accept,        SYS_accept4,        SYS_sendto,       SYS_sendmsg,         SYS_sendmmsg,
    SYS_recvfrom,      SYS_recvmsg,        SYS_recvmmsg,     SYS_semop,           SYS_semtimedop,
    SYS_epoll_wait,    SYS_epoll_pwait,    SYS_epoll_pwait2, SYS_rt_sigtimedwait, SYS_io_getevents,
    SYS_io_pgetevents, SYS_io_uring_enter,
});
constexpr auto kOwnMask = std::to_array<int64_t>({
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    SYS_io_pgetevents,
    SYS_io_uring_enter,
});

int64_t call_of(const Registers& registers) {
  return static_cast<int64_t>(registers.orig_rax);
}
int64_t result_of(const Registers& registers) {
  return static_cast<int64_t>(registers.rax);
}
constexpr uint64_t kNoCall = UINT64_MAX;

}  // namespace

bool read_registers(pid_t tid, Registers& out) {
  iovec vector{&out, sizeof(out)};
  // A 32-bit thread gives a smaller set (struct user_regs_struct32).
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &vector) != 0) return false;
  if (vector.iov_len == sizeof(out)) return true;
  out = {};
  return true;
}

bool write_registers(pid_t tid, const Registers& registers) {
  iovec vector{const_cast<Registers*>(&registers), sizeof(registers)};
  return ::ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &vector) == 0;
}

uint64_t instruction_pointer(const Registers& registers) {
  return registers.rip;
}
uint64_t stack_pointer(const Registers& registers) {
  return registers.rsp;
}
bool native_mode(const Registers& registers) {
  return registers.cs == kUserCode64;
}
bool in_system_call(const Registers& registers) {
  return call_of(registers) >= 0;
}

bool will_restart(const Registers& registers) {
  if (call_of(registers) < 0) return false;
  const int64_t result = result_of(registers);
  return result == kRestartSys || result == kRestartNoIntr || result == kRestartNoHand ||
         result == kRestartBlock;
}

Registers before_system_call(const Registers& registers) {
  Registers out = registers;
  if (will_restart(registers)) {
    out.rip = registers.rip - kSystemCallSize;
    out.rax = result_of(registers) == kRestartBlock ? static_cast<uint64_t>(SYS_restart_syscall)
                                                    : registers.orig_rax;
  }
  out.orig_rax = kNoCall;
  return out;
}

uint64_t next_instruction(const Registers& registers) {
  return will_restart(registers) ? registers.rip - kSystemCallSize : registers.rip;
}

bool interrupted_without_restart(const Registers& registers) {
  return native_mode(registers) && result_of(registers) == -EINTR &&
         std::ranges::find(kInterruptible, call_of(registers)) != kInterruptible.end();
}

bool waits_with_own_mask(const Registers& registers) {
  return std::ranges::find(kOwnMask, call_of(registers)) != kOwnMask.end();
}

bool is_system_call_instruction(const std::byte (&bytes)[kSystemCallSize]) {
  return bytes[0] == std::byte{0x0f} && bytes[1] == std::byte{0x05};  // not int 0x80, nor sysenter
}

Registers repeat_system_call(const Registers& registers) {
  Registers out = registers;
  out.rip = registers.rip - kSystemCallSize;
  out.rax = registers.orig_rax;
  out.orig_rax = kNoCall;
  return out;
}

Registers at_instruction(const Registers& registers, uint64_t address) {
  Registers out = registers;
  out.rip = address;
  out.orig_rax = kNoCall;
  return out;
}

Registers without_system_call(const Registers& registers) {
  Registers out = registers;
  out.orig_rax = kNoCall;
  return out;
}

}  // namespace jitscope
