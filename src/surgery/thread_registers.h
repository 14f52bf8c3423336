// The registers of a stopped thread, and the rules by which a system call that a stop cut short is
// gone on with. One header for every architecture; the code stands in thread_registers_ARCH.cc.
//
// A stop inside a system call shows the kernel's inner result (arch/x86/kernel/signal.c,
// arch_do_signal_or_restart): one of the -ERESTART... values, with which the kernel itself repeats
// the call when the thread goes on; or -EINTR, with which it does not.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>

namespace jitscope {

using Registers = user_regs_struct;

// False when the thread is no more, or not stopped by us.
[[nodiscard]] bool read_registers(pid_t tid, Registers& out);
[[nodiscard]] bool write_registers(pid_t tid, const Registers& registers);

[[nodiscard]] uint64_t instruction_pointer(const Registers& registers);
[[nodiscard]] uint64_t stack_pointer(const Registers& registers);
// The thread is in 64-bit code (and not in 32-bit compatibility mode).
[[nodiscard]] bool native_mode(const Registers& registers);
// The stop happened on the way out of a system call, not in the midst of the program's own code.
[[nodiscard]] bool in_system_call(const Registers& registers);

// The kernel will repeat the system call when the thread goes on.
[[nodiscard]] bool will_restart(const Registers& registers);
// The same thread, put back in front of its system call, so that it may be sent elsewhere
// meanwhile; registers that do not will_restart come back as they are (with no call to restart).
[[nodiscard]] Registers before_system_call(const Registers& registers);
// The next instruction that the thread will execute when it goes on.
[[nodiscard]] uint64_t next_instruction(const Registers& registers);

// The call returned -EINTR though only the stop interrupted it: one of the calls that the kernel
// does not repeat by itself. The caller must make sure that no signal of the program's own is the
// cause.
[[nodiscard]] bool interrupted_without_restart(const Registers& registers);
// Such a call waits with a signal mask of its own (epoll_pwait).
[[nodiscard]] bool waits_with_own_mask(const Registers& registers);
// The bytes before instruction_pointer() are the system call instruction.
inline constexpr uint64_t kSystemCallSize = 2;
[[nodiscard]] bool is_system_call_instruction(const std::byte (&bytes)[kSystemCallSize]);
// Makes the thread repeat a call that was interrupted_without_restart.
[[nodiscard]] Registers repeat_system_call(const Registers& registers);

// The thread at the first instruction of other code, with no call to restart.
[[nodiscard]] Registers at_instruction(const Registers& registers, uint64_t address);
// At a system-call-entry stop: the call will not be made (its result is -ENOSYS).
[[nodiscard]] Registers without_system_call(const Registers& registers);

}  // namespace jitscope
