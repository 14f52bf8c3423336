// RuntimeKind: what compiles a process's code, as the files that it maps tell, finer than Runtime:
// also those whose code nothing names: a program of a runtime's row (common/runtime_row.h). Pure
// text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "code/code_body.h"
#include "process/maps.h"
#include "runtimes/common/runtime_row.h"

namespace jitscope {

class RuntimeKind {
 public:
  RuntimeKind() = default;
  // The row of a runtime of the model, of no version.
  explicit RuntimeKind(Runtime runtime);

  // The path of an executable mapping. The first that is known counts, and of the highest rank.
  // True when the runtime is another one from now on.
  bool see(std::string_view path);

  [[nodiscard]] std::string_view name() const;  // "LuaJIT"; "" when nothing is known
  // What to do so that its JIT code has names, or that nothing can be done. A sentence without its
  // full stop; never "".
  [[nodiscard]] std::string how_to_name() const;
  // How to have a perf map of a process that runs: "start node with --perf-basic-prof".
  [[nodiscard]] std::string how_to_map() const;
  // Such code has names by itself, once `jitscope record` looks at it.
  [[nodiscard]] bool seen_from_outside() const;
  // Its code has names by the images that are mapped, without a map or dump.
  [[nodiscard]] bool in_images() const;
  // Nothing that the runtime could be told to do would help.
  [[nodiscard]] bool hopeless() const;

  // The runtime of the model that it is a kind of.
  [[nodiscard]] Runtime runtime() const;

 private:
  // As runtimes/all_runtimes.h lists their programs.
  struct Entry;
  static const std::vector<Entry>& entries();
  [[nodiscard]] const RuntimeProgram& program() const;
  [[nodiscard]] bool too_old() const;

  uint8_t entry_ = 0;       // 0: not known
  RuntimeVersion version_;  // 0.0: not known
};

// Of a process by its mappings.
[[nodiscard]] RuntimeKind kind_of(const std::vector<Mapping>& maps);

}  // namespace jitscope
