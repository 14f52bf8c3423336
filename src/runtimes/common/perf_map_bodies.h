// The code bodies that the lines of a perf map leave behind: a later line ends whatever it
// overlaps, since a perf map has no line that says that code was freed. No system calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/diagnostics.h"
#include "code/code_body.h"
#include "formats/perfmap/perf_map.h"
#include "process/maps.h"
#include "runtimes/common/runtime_row.h"

namespace jitscope {

class PerfMapBodies {
 public:
  // More lines than this are not kept (some 700 MB of memory); they are counted.
  static constexpr size_t kMostBodies = 1U << 20U;

  PerfMapBodies(const RuntimeRow& runtime, SourceKind kind) : runtime_(runtime), kind_(kind) {}

  void add(const PerfMapLine& line, Diagnostics& diagnostics);
  void clear();
  [[nodiscard]] size_t size() const { return bodies_.size(); }

  // What lies in executable memory of a process with these mappings, by address; V8's bytecode also
  // in data pages. A body that does not (any more) is left out, and counted the first time.
  [[nodiscard]] std::vector<CodeBody> alive(const std::vector<Mapping>& maps,
                                            Diagnostics& diagnostics);

 private:
  struct Kept {
    CodeBody body;
    bool counted = false;  // as lying outside
  };
  const RuntimeRow& runtime_;
  SourceKind kind_;
  std::map<uint64_t, Kept> bodies_;  // by start; they do not overlap
  // One name object for equal names; a key is a view of its value's raw text. Names that no body
  // uses any more are dropped now and then.
  std::unordered_map<std::string_view, std::shared_ptr<const MethodName>> names_;
};

}  // namespace jitscope
