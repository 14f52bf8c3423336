// What a process is: which runtime, which version, how much executable memory no ELF file backs,
// which code sources exist and whether it can be probed. For `jitscope ps` and for
// open_code_source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "code/code_body.h"
#include "process/process.h"
#include "runtimes/common/runtime_row.h"
#include "runtimes/runtime_kind.h"

namespace jitscope {

// An executable mapping that is not a readable ELF file: anonymous, memfd, deleted, /dev/zero, or a
// file of another format. Kernel mappings ([vdso], [vsyscall], [uprobes]...) and jitscope's own
// live images are not among them.
struct JitMapping {
  Mapping mapping;
  std::string kind;  // "anonymous", "memfd", "shared /dev/zero", "deleted file", "not ELF"
};

struct SourceFinding {
  SourceKind kind = SourceKind::perf_map;
  bool usable = false;
  std::string detail;  // path, or the reason why it is not usable and what to do
};

struct WithheldBackend {
  std::string backend;
  std::string reason;
};

struct ProcessFindings {
  RuntimeInfo runtime;
  RuntimeKind kind;  // of the same runtime, finer
  std::vector<JitMapping> jit_mappings;
  uint64_t jit_bytes = 0;
  std::vector<SourceFinding> sources;
  // By which backends this user can trace it: "trampoline", "breakpoint".
  std::vector<std::string> backends;
  // Those that the process would allow, but not to this user; best first.
  std::vector<WithheldBackend> withheld;
  bool exposable = false;     // this user can give its methods to other tools (`jitscope expose`)
  std::string not_probeable;  // "" when it can be probed
};

// What its runtime is called: "HotSpot", "Wine", "unknown".
[[nodiscard]] std::string_view runtime_name(const ProcessFindings& findings);

[[nodiscard]] std::vector<JitMapping> find_jit_mappings(const Process& process,
                                                        const std::vector<Mapping>& maps);
[[nodiscard]] RuntimeInfo detect_runtime(const Process& process, const std::vector<Mapping>& maps);
// With its mappings as they are now.
Result<RuntimeInfo> detect_runtime(const Process& process);
// By the name of a mapped executable or library alone ("/usr/lib/.../libjvm.so"); unknown for the
// rest.
[[nodiscard]] Runtime runtime_of_file(std::string_view path);
// All of it; cheap for processes without JIT code (one read of maps).
Result<ProcessFindings> examine(const Process& process);

}  // namespace jitscope
