// Whether the kernel's tracefs can be used here. jitscope itself does without it; perf probe,
// bpftrace (it looks for a uprobe's event there when it ends) and tracefs command lines do not.
#pragma once

#include <string>

namespace jitscope {

// Where it is mounted: /sys/kernel/tracing, or below debugfs. "" when it is not.
[[nodiscard]] std::string tracefs_directory();
// The same, looking at these places.
[[nodiscard]] std::string tracefs_directory(const std::string& tracing, const std::string& debug);

// What to say when it is not mounted, with the command that mounts it.
[[nodiscard]] std::string tracefs_missing();

}  // namespace jitscope
