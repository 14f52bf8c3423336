// The metadata of the assemblies that are at hand, for what one of them says of another.
#pragma once

#include <string_view>

#include "formats/ecma335/metadata.h"

namespace jitscope {

class EcmaAssemblies {
 public:
  EcmaAssemblies() = default;
  EcmaAssemblies(const EcmaAssemblies&) = delete;
  EcmaAssemblies& operator=(const EcmaAssemblies&) = delete;
  EcmaAssemblies(EcmaAssemblies&&) = delete;
  EcmaAssemblies& operator=(EcmaAssemblies&&) = delete;
  virtual ~EcmaAssemblies() = default;
  // By its simple name, "System.Runtime". Null: not at hand.
  [[nodiscard]] virtual const EcmaMetadata* assembly(std::string_view name) const = 0;
};

}  // namespace jitscope
