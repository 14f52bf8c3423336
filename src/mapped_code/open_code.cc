// See open_code.h.
#include "mapped_code/open_code.h"

#include <utility>

#include "mapped_code/joint_source.h"
#include "mapped_code/pe_source.h"
#include "runtimes/detect.h"
#include "runtimes/open_source.h"

namespace jitscope {

Result<std::unique_ptr<CodeSource>> open_all_code(const Process& process, const RuntimeInfo& info,
                                                  const SourceOptions& options) {
  auto jit = open_code_source(process, info, options);
  if (!jit && jit.error().kind == ErrorKind::target_gone) return jit;
  // A map that the user names is what the user wants.
  if (!options.map_path.empty()) return jit;
  auto images = PeSource::open(process, info.runtime, jit ? std::string() : to_string(jit.error()));
  if (!images) return jit;
  if (!jit) return std::move(*images);
  return std::make_unique<JointSource>(std::move(*jit), std::move(*images));
}

Result<std::unique_ptr<CodeSource>> open_all_code(const Process& process,
                                                  const SourceOptions& options) {
  JITSCOPE_ASSIGN(const RuntimeInfo info, detect_runtime(process));
  return open_all_code(process, info, options);
}

}  // namespace jitscope
