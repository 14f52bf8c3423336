// The threads of a process as /proc/PID/task lists them, and which of them still has the memory.
//
// A thread-group leader that called pthread_exit is a zombie without memory while the other threads
// run on: /proc/PID/maps is empty then and process_vm_readv(PID) says ESRCH. Every access to
// memory, maps, root and the like therefore goes through a thread that is alive (task_path).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jitscope {

// Fields of /proc/PID/stat (fs/proc/array.c, do_task_stat); `comm` may hold spaces and parentheses.
struct TaskStat {
  std::string comm;
  char state = '?';
  uint64_t flags = 0;        // PF_..., field 9
  uint64_t start_ticks = 0;  // field 22
};
// `text` is the content of a stat file; damaged when it makes no sense.
Result<TaskStat> parse_task_stat(std::string_view text);
// Of a thread of a process; target_gone when it is no more.
Result<TaskStat> read_task_stat(pid_t pid, pid_t tid);

// Thread ids of a process, ascending; empty when it is gone.
[[nodiscard]] std::vector<pid_t> list_threads(pid_t pid);

// A thread that still has the address space: `pid` itself, or another one when the leader is a
// zombie. `pid` when there is none.
[[nodiscard]] pid_t live_thread(pid_t pid);

// "/proc/PID/NAME", or "/proc/PID/task/TID/NAME" when the leader is a zombie.
[[nodiscard]] std::string task_path(pid_t pid, std::string_view name);

// Error not_permitted: "WHAT of process 12 (java) is not permitted", with whose process it is and
// what would help (user, CAP_SYS_PTRACE, Yama) as the hint.
[[nodiscard]] Error permission_error(std::string_view what, pid_t pid, int code);

}  // namespace jitscope
