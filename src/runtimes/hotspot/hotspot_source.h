// The code source "HotSpot structures in memory": a live JVM's compiled methods, read from outside
// with process_vm_readv. The target is neither stopped nor changed, and needs no flag and no agent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

// `libjvm_path_in_target` is the path as the target's maps show it, `libjvm_base` its lowest
// mapping. `process` must outlive the source. Errors: not_possible (no exported tables, or a layout
// that cannot be read: use the perf map), not_permitted, target_gone, damaged.
Result<std::unique_ptr<CodeSource>> open_hotspot_source(const Process& process,
                                                        const std::string& libjvm_path_in_target,
                                                        uint64_t libjvm_base);

// "17.0.15+6-Debian-1deb12u1", "25.0.3+9-LTS"; "" when it cannot be read.
std::string hotspot_version(const Process& process, const std::string& libjvm_path_in_target,
                            uint64_t libjvm_base);

// Why this JVM compiles nothing (-Xint and the like), as far as its own options tell; "" when it
// does, or may.
std::string why_hotspot_compiles_nothing(const Process& process,
                                         const std::string& libjvm_path_in_target,
                                         uint64_t libjvm_base);

}  // namespace jitscope
