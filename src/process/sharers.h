// Other processes in the address space of one: its vfork child until that executes a program, the
// parent of such a child, and what clone(2) made with CLONE_VM and without CLONE_THREAD.
//
// They matter because a stop holds the threads of one process: who shares its memory runs on in the
// code that is being changed, and keeps the changes when the process itself has gone.
#pragma once

#include <sys/types.h>

#include <vector>

#include "process/process.h"

namespace jitscope {

// All of them, ascending; those that this user may not look at (kcmp(2)) are left out. About ten
// microseconds a process of the machine.
[[nodiscard]] std::vector<pid_t> sharers(const Process& process);

// The child that a thread waits for in vfork(2); 0: it does not, or it is not known.
[[nodiscard]] pid_t vfork_child(pid_t pid, pid_t tid);

}  // namespace jitscope
