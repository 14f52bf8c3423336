// Names that V8 writes to perf maps (src/logging/log.cc and src/logging/code-events.h of V8):
// `TAG:MARK` + function + ' ' + script:line:column. Tags of functions are JS, LazyCompile,
// Function, Script and Eval; anything else (Builtin, BytecodeHandler, RegExp, Stub, ...) is code of
// the runtime. Marks: ~ interpreted, ^ Sparkplug, + Maglev, * TurboFan; o before them means
// on-stack replacement, ' behind them a version for one context. Pure text.
#pragma once

#include <optional>
#include <string_view>

#include "code/code_body.h"
#include "runtimes/common/map_name.h"

namespace jitscope {

// MethodName::type of a function of a WebAssembly module.
inline constexpr std::string_view kWasmType = "wasm";

struct V8Name {
  MethodName name;
  Tier tier = Tier::unknown;
  bool osr = false;
  bool function = false;  // a JavaScript function, called by V8's JavaScript convention
};

// nullopt when the text has none of V8's tags.
[[nodiscard]] std::optional<V8Name> parse_v8_name(std::string_view raw);
// The same as a name of a perf map.
[[nodiscard]] std::optional<MapName> parse_v8_map_name(std::string_view raw);

}  // namespace jitscope
