// as_tracer: runs a piece of work on a thread that lives only for it and is the tracer meanwhile.
//
// Why a thread of its own: the kernel detaches every tracee of a thread that exits, whatever the
// tracee is doing (kernel/ptrace.c, exit_ptrace). PTRACE_DETACH can only let go of a stopped
// thread; one that stays in uninterruptible sleep would otherwise stop later, with nobody there to
// resume it. So no path of an error can leave a thread behind. The caller waits with all its
// signals blocked, and meanwhile buries threads of the target that died: an exec in the target
// waits for that while it holds the lock that PTRACE_SEIZE needs.
#pragma once

#include <sys/types.h>

#include <functional>

namespace jitscope {

void as_tracer(pid_t target, const std::function<void()>& work);

}  // namespace jitscope
