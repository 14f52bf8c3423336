// RuntimeKind: what compiles a process's code, as the files that it maps tell, finer than Runtime:
// also those whose code nothing names. One row of a table each (runtime_kind.cc), with what must be
// done so that its code has names. Pure text.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "code/code_body.h"
#include "process/maps.h"

namespace jitscope {

class RuntimeKind {
 public:
  RuntimeKind() = default;
  // The row of a runtime of the model, of no version.
  explicit RuntimeKind(Runtime runtime);

  // The path of an executable mapping. The first that is known counts; HotSpot's library before
  // all.
  void see(std::string_view path);

  [[nodiscard]] std::string_view name() const;  // "LuaJIT"; "" when nothing is known
  // What to do so that its JIT code has names, or that nothing can be done. A sentence without its
  // full stop; never "".
  [[nodiscard]] std::string how_to_name() const;
  // Such code has names by itself, once `jitscope record` looks at it.
  [[nodiscard]] bool seen_from_outside() const;
  // Nothing that the runtime could be told to do would help.
  [[nodiscard]] bool hopeless() const;

 private:
  struct Version {
    uint32_t major = 0;
    uint32_t minor = 0;
    auto operator<=>(const Version&) const = default;
  };
  struct Row;
  static const Row& row_of(uint8_t number);
  static Version version_in(std::string_view path, std::string_view name);
  [[nodiscard]] bool too_old() const;

  uint8_t row_ = 0;
  Version version_;  // 0.0: not known
};

// Of a process by its mappings.
[[nodiscard]] RuntimeKind kind_of(const std::vector<Mapping>& maps);

}  // namespace jitscope
