#include "probe/never_compiled.h"

#include <fmt/format.h>

#include "runtimes/all_runtimes.h"

namespace jitscope {

Status check_compiles(const Process& process, const RuntimeInfo& runtime) {
  const RuntimeRow& row = row_of(runtime.runtime);
  if (row.why_compiles_nothing == nullptr) return {};
  const std::string why = row.why_compiles_nothing(process, runtime);
  if (why.empty()) return {};
  return fail(ErrorKind::not_possible, fmt::format("this JVM never compiles a method: {}", why),
              fmt::format("pid {}", process.pid()),
              "interpreted calls enter no code of their own that could be probed");
}

}  // namespace jitscope
