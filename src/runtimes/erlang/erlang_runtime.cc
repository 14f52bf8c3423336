#include "runtimes/erlang/erlang_runtime.h"

#include <array>

#include "base/path.h"

namespace jitscope {
namespace {

constexpr std::string_view kPrologue = "-CodeInfoPrologue";

// The name of what lies before a function's code.
bool lies_before_code(std::string_view raw) {
  return raw.ends_with(kPrologue);
}

// "$lists:map/2", "$'Elixir.Enum':map/2"; "$lists:map/2-CodeInfoPrologue" (before its code: the end
// with function_clause, and the jump that calls of its own module come through);
// "$lists::codeHeader" and "$global::..." (fragments of the JIT).
MapName parse_erlang(std::string_view raw) {
  std::string_view text = raw;
  if (text.starts_with('$')) text.remove_prefix(1);
  if (text.starts_with("global::")) return stub_map_name(raw);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') quoted = !quoted;
    if (text[i] != ':' || quoted || i == 0 || i + 1 == text.size()) continue;
    std::string_view module = text.substr(0, i);
    std::string_view function = text.substr(i + 1);
    if (module.size() > 2 && module.front() == '\'' && module.back() == '\'') {
      module = module.substr(1, module.size() - 2);
    }
    const bool fragment = function.size() > 1 && function.starts_with(':');
    if (fragment) function.remove_prefix(1);
    MapName out = fragment ? stub_map_name(raw) : whole_map_name(raw);
    out.part = function.size() > kPrologue.size() && lies_before_code(function);
    if (out.part) {
      function.remove_suffix(kPrologue.size());
      out.not_probeable = "what lies before the function's code";
    }
    out.name.type = module;
    out.name.function = function;
    return out;
  }
  MapName out = whole_map_name(raw);
  if (!text.empty()) out.name.function = text;
  return out;
}

// ".../erts-13.1.5/bin/beam.smp"
std::string version(const Process& /*process*/, const RuntimeInfo& info) {
  const std::string_view erts = path_component(info.library, 2);
  return erts.starts_with("erts-") ? std::string(erts) : std::string();
}

std::string why_not_fixed(const Process& /*process*/) {
  return "Erlang frees code when a module is loaded anew";
}

constexpr std::array kPrograms = {
    RuntimeProgram{.name = "Erlang",
                   .files = {"beam."},
                   .how_to_name = "start it with +JPperf true (OTP 24 and later)"},
};

}  // namespace

constexpr RuntimeRow kErlangRuntime = {
    .runtime = Runtime::erlang,
    .programs = kPrograms,
    .version = version,
    .parse = parse_erlang,
    .lies_before_code = lies_before_code,
    .how_to_map = "start erl with +JPperf true (or map, without a jitdump)",
    .why_not_fixed = why_not_fixed,
};

}  // namespace jitscope
