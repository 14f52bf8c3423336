// A CodeSource that says what a test tells it, and names and bodies for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtimes/common/code_source.h"

namespace jitscope::test {

inline std::shared_ptr<const MethodName> method_name(std::string type, std::string function,
                                                     std::optional<std::string> parameters = {}) {
  MethodName name;
  name.type = std::move(type);
  name.function = std::move(function);
  name.has_parameters = parameters.has_value();
  name.parameters = parameters.value_or("");
  name.raw = name.display();
  return std::make_shared<const MethodName>(std::move(name));
}

inline std::shared_ptr<const MethodName> script_name(std::string function, std::string location) {
  MethodName name;
  name.function = std::move(function);
  name.location = std::move(location);
  name.raw = name.display();
  return std::make_shared<const MethodName>(std::move(name));
}

inline CodeBody code_body(uint64_t address, std::shared_ptr<const MethodName> name,
                          uint64_t version = 1, uint64_t size = 64) {
  CodeBody body;
  body.address = address;
  body.size = size;
  body.entry = address;
  body.name = std::move(name);
  body.tier = Tier::c2;
  body.state = BodyState::in_use;
  body.version = version;
  return body;
}

class FakeSource final : public CodeSource {
 public:
  std::vector<CodeBody> bodies;
  std::vector<std::shared_ptr<const MethodName>> loaded;
  bool fixed = true;
  std::optional<Error> broken;
  std::string map;  // a perf map to watch
  size_t reads = 0;

  Result<Snapshot> read() override {
    ++reads;
    if (broken) return fail(*broken);
    return Snapshot{bodies, 0};
  }
  Result<std::vector<std::shared_ptr<const MethodName>>> loaded_methods() override {
    return loaded;
  }
  [[nodiscard]] bool knows_loaded_methods() const override { return !loaded.empty(); }
  [[nodiscard]] SourceKind kind() const override { return SourceKind::perf_map; }
  [[nodiscard]] std::string describe() const override { return "a test"; }
  [[nodiscard]] std::string map_file() const override { return map; }
  [[nodiscard]] bool code_is_fixed() const override { return fixed; }
  [[nodiscard]] std::string movable_reason() const override {
    return fixed ? "" : "the test moves it";
  }
};

}  // namespace jitscope::test
