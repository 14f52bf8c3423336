// DotnetStubs: the machine code that .NET's runtime made for itself in a live process's memory
// (stub_patterns.h), as bodies: neighbours of one kind are one body. All executable memory that no
// file holds is looked at anew each time, within bounds; what JIT compilers made there has other
// sources, which come first.
#pragma once

#include <memory>
#include <string>

#include "process/memory_reader.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

class DotnetStubs final : public CodeSource {
 public:
  // More memory than this is not looked at.
  static constexpr uint64_t kMostBytes = 128U << 20U;
  // More bodies than this are not told of.
  static constexpr size_t kMostBodies = 1U << 16U;

  // `process` must outlive it.
  explicit DotnetStubs(const Process& process) : process_(process) {}

  // Bodies that could not be read count as torn.
  Result<Snapshot> read() override;
  [[nodiscard]] SourceKind kind() const override { return SourceKind::perf_map; }
  [[nodiscard]] std::string describe() const override { return ".NET's own stubs in memory"; }
  [[nodiscard]] bool code_is_fixed() const override { return false; }

 private:
  const Process& process_;
};

// What there is in these mappings. For tests.
[[nodiscard]] Snapshot find_dotnet_stubs(const std::vector<Mapping>& maps, MemoryReader& memory);

}  // namespace jitscope
