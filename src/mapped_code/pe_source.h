// PeSource: the functions of PE images that a live process has mapped (ReadyToRun methods of .NET,
// symbols of Wine's programs), as a code source. Names are decoded once an image; bodies come and
// go with the mappings.
//
// Bodies that are mapped from files say so (CodeBody::file). Strangers made the files: what is in
// them decides nothing but names and where a probe would lie in these files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "code/code_body.h"
#include "mapped_code/pe_mappings.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

class PeSource final : public CodeSource {
 public:
  // Of a process of this runtime, of whose JIT's code is known what `jit` says ("": it is read, or
  // there is none). not_found when it has no image mapped.
  static Result<std::unique_ptr<PeSource>> open(const Process& process, Runtime runtime,
                                                std::string jit);

  Result<Snapshot> read() override;
  void only(const NameFilter& wanted) override;
  [[nodiscard]] SourceKind kind() const override { return SourceKind::mapped_image; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string caveat() const override;
  [[nodiscard]] bool code_is_fixed() const override { return true; }

  // Whether an address lay in an image at the last look.
  [[nodiscard]] bool holds(uint64_t address) const;

 private:
  struct Function {
    uint32_t start = 0;  // RVA
    uint32_t size = 0;
    std::shared_ptr<const MethodName> name;
    Tier tier = Tier::unknown;
    std::string not_probeable;
  };
  using Functions = std::vector<Function>;

  PeSource(const Process& process, Runtime runtime, std::string jit);
  const Functions& functions_of(const MappedPe& image);
  void add_bodies(const PeInstance& instance, std::vector<CodeBody>& bodies);

  const Process& process_;
  const Runtime runtime_;
  const std::string jit_;
  PeMappings mappings_;
  std::vector<PeInstance> last_;
  std::vector<CodeBody> bodies_;             // of last_
  NameFilter wanted_;                        // empty: all
  std::map<uint32_t, Functions> functions_;  // by MappedPe::id
  size_t function_count_ = 0;
};

}  // namespace jitscope
