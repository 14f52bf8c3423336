#include "cli/version.h"

#include <fmt/format.h>

namespace jitscope {

std::string_view version_number() {
  return JITSCOPE_VERSION;
}

std::string version_text() {
  const std::string_view commit = version_commit();
  return fmt::format("jitscope {}{}{}{}", version_number(), commit.empty() ? "" : " (", commit,
                     commit.empty() ? "" : ")");
}

}  // namespace jitscope
