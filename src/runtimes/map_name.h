// The names that runtimes write to perf maps, taken apart by the runtime's own spelling: HotSpot
// (external_name), perf-map-agent's JVM signatures, Erlang, PHP, Mono, .NET; V8's in v8/v8_name.h.
// A name of an unknown spelling stays whole as the function. Pure text.
#pragma once

#include <string>
#include <string_view>

#include "code/code_body.h"

namespace jitscope {

// Erlang's name for what lies before a function's code.
[[nodiscard]] bool is_erlang_prologue(std::string_view raw);

struct MapName {
  MethodName name;
  Tier tier = Tier::unknown;
  bool osr = false;
  // A part of the function's code that lies apart from its entry: no body to probe.
  bool part = false;
  CallConvention convention = CallConvention::unknown;
  std::string not_probeable;  // "" when nothing in the name speaks against it
};

[[nodiscard]] MapName parse_map_name(Runtime runtime, std::string_view raw);

}  // namespace jitscope
