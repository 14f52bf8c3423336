// JointSource: what a JIT wrote and what lies in mapped images, as one code source. Where a perf
// map lists code of an image, too, the image's own body counts: it knows the file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mapped_code/pe_source.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

class JointSource final : public CodeSource {
 public:
  JointSource(std::unique_ptr<CodeSource> jit, std::unique_ptr<PeSource> images)
      : jit_(std::move(jit)), images_(std::move(images)) {}

  Result<Snapshot> read() override;
  void only_places() override { jit_->only_places(); }
  void only(const NameFilter& wanted) override;
  Result<std::vector<std::shared_ptr<const MethodName>>> loaded_methods() override {
    return jit_->loaded_methods();
  }
  [[nodiscard]] bool knows_loaded_methods() const override { return jit_->knows_loaded_methods(); }
  Result<std::vector<BodyDetail>> details(std::span<const CodeBody* const> bodies) override;
  // Of the JIT's code: that is what may move, what is announced, and what comes and goes.
  [[nodiscard]] SourceKind kind() const override { return jit_->kind(); }
  [[nodiscard]] bool has_images() const override { return true; }
  [[nodiscard]] std::string describe() const override {
    return jit_->describe() + ", " + images_->describe();
  }
  [[nodiscard]] std::string map_file() const override { return jit_->map_file(); }
  [[nodiscard]] std::string caveat() const override { return jit_->caveat(); }
  [[nodiscard]] bool code_is_fixed() const override { return jit_->code_is_fixed(); }
  [[nodiscard]] std::string movable_reason() const override { return jit_->movable_reason(); }
  [[nodiscard]] std::string load_probe_file() const override { return jit_->load_probe_file(); }

 private:
  std::unique_ptr<CodeSource> jit_;
  std::unique_ptr<PeSource> images_;
};

}  // namespace jitscope
