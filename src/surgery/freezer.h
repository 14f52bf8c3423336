// Whether the kernel's cgroup freezer holds a process (version 1 or 2, as containers are paused).
// Frozen threads run nothing: not a stub of ours, and under version 1 not even the stop of a
// tracer.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace jitscope {

// The file that says so ("/sys/fs/cgroup/shop/cgroup.events"); "" when it is not frozen, or where
// the cgroup cannot be seen from here.
[[nodiscard]] std::string frozen_by(pid_t pid);

// The same from the texts of /proc/PID/cgroup and /proc/self/mountinfo.
[[nodiscard]] std::string frozen_by(std::string_view cgroup, std::string_view mountinfo);

[[nodiscard]] Error frozen_error(pid_t pid, std::string_view file);

}  // namespace jitscope
