// CodeSource over a perf map (`perf-PID.map`) of a live process, in its own mount namespace or on
// the host. Follows the map as it grows. A perf map has no time and no word for freed code: later
// lines end what they overlap, what no longer lies in executable memory is dropped, and whether a
// body is still in use is not known.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "code/code_body.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"
#include "runtimes/common/perf_map_file.h"

namespace jitscope {

// The map that open_perf_map_source would take, or why each one that is there is not usable
// (not_found: there is none at all).
Result<PerfMapPlace> find_perf_map(const Process& process, const SourceOptions& options);

// `process` must outlive the source. not_found when there is no map, not_permitted (with the
// reason) when there is one that cannot be trusted.
Result<std::unique_ptr<CodeSource>> open_perf_map_source(const Process& process, Runtime runtime,
                                                         const SourceOptions& options);

// "" when code of this runtime in this process stays where it is, else why it may not, or why it
// must not be patched.
[[nodiscard]] std::string why_code_is_not_fixed(const Process& process, Runtime runtime);

}  // namespace jitscope
