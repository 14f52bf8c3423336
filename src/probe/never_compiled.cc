#include "probe/never_compiled.h"

#include <fmt/format.h>

#include "runtimes/detect.h"
#include "runtimes/hotspot/hotspot_source.h"

namespace jitscope {

Status check_compiles(const Process& process) {
  const auto maps = process.maps();
  if (!maps) return {};
  const RuntimeInfo info = detect_runtime(process, *maps);
  if (info.runtime != Runtime::hotspot) return {};
  const std::string why = why_hotspot_compiles_nothing(process, info.library, info.library_base);
  if (why.empty()) return {};
  return fail(ErrorKind::not_possible, fmt::format("this JVM never compiles a method: {}", why),
              fmt::format("pid {}", process.pid()),
              "interpreted calls enter no code of their own that could be probed");
}

}  // namespace jitscope
