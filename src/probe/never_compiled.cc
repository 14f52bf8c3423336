#include "probe/never_compiled.h"

#include <fmt/format.h>

#include "runtimes/all_runtimes.h"
#include "runtimes/detect.h"

namespace jitscope {

Status check_compiles(const Process& process) {
  const auto maps = process.maps();
  if (!maps) return {};
  const RuntimeInfo info = detect_runtime(process, *maps);
  const RuntimeRow& row = row_of(info.runtime);
  if (row.why_compiles_nothing == nullptr) return {};
  const std::string why = row.why_compiles_nothing(process, info);
  if (why.empty()) return {};
  return fail(ErrorKind::not_possible, fmt::format("this JVM never compiles a method: {}", why),
              fmt::format("pid {}", process.pid()),
              "interpreted calls enter no code of their own that could be probed");
}

}  // namespace jitscope
