// MapName: a name from a perf map, taken apart by the spelling of its runtime (RuntimeRow::parse).
// A name of an unknown spelling stays whole as the function. Pure text.
#pragma once

#include <string>
#include <string_view>

#include "code/code_body.h"

namespace jitscope {

struct MapName {
  MethodName name;
  Tier tier = Tier::unknown;
  bool osr = false;
  // A part of the function's code that lies apart from its entry: no body to probe.
  bool part = false;
  CallConvention convention = CallConvention::unknown;
  std::string not_probeable;  // "" when nothing in the name speaks against it
};

// Why code of the runtime itself is not probed.
inline constexpr std::string_view kRuntimeStub = "runtime stub";

// All of it is the function's name.
[[nodiscard]] MapName whole_map_name(std::string_view raw);
// The runtime's own code.
[[nodiscard]] MapName stub_map_name(std::string_view raw);

}  // namespace jitscope
