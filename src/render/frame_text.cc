#include "render/frame_text.h"

#include <fmt/format.h>

namespace jitscope {

std::string shown_name(const Frame& frame) {
  if (frame.method.empty()) return "[unknown]";
  return frame.ambiguous ? frame.method + "?" : frame.method;
}

std::string thread_label(const Group& group, bool with_ids) {
  if (!with_ids) return group.comm;
  return fmt::format("{}-{}/{}", group.comm, group.pid, group.tid);
}

std::string process_label(const Group& group) {
  return fmt::format("{} {}", group.process.empty() ? group.comm : group.process, group.pid);
}

}  // namespace jitscope
