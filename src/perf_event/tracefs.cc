// Finds tracefs; see tracefs.h.
#include "perf_event/tracefs.h"

#include <linux/magic.h>
#include <sys/vfs.h>

namespace jitscope {
namespace {

bool is_tracefs(const std::string& path) {
  struct statfs info{};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == TRACEFS_MAGIC;
}

}  // namespace

std::string tracefs_directory(const std::string& tracing, const std::string& debug) {
  if (is_tracefs(tracing)) return tracing;
  // The kernel mounts it there by itself when the path is used.
  std::string below = debug + "/tracing";
  if (is_tracefs(below + "/.")) return below;
  return {};
}

std::string tracefs_directory() {
  return tracefs_directory("/sys/kernel/tracing", "/sys/kernel/debug");
}

std::string tracefs_missing() {
  return "tracefs is not mounted: without it bpftrace ends with \"failed to detach probe\", and "
         "perf "
         "probe and tracefs lines do not work; as root: mount -t tracefs tracefs "
         "/sys/kernel/tracing";
}

}  // namespace jitscope
