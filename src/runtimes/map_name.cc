// Splitting perf map names; see map_name.h. Every split falls back to the whole name.
#include "runtimes/map_name.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "code/display_name.h"
#include "formats/java/java_names.h"
#include "runtimes/unfolded_name.h"
#include "runtimes/v8/v8_name.h"

namespace jitscope {
namespace {

constexpr std::string_view kStub = "runtime stub";
constexpr std::string_view kPrologue = "-CodeInfoPrologue";

MapName whole(std::string_view raw) {
  MapName out;
  out.name.raw = raw;
  out.name.function = raw;
  return out;
}

MapName stub(std::string_view raw) {
  MapName out = whole(raw);
  out.tier = Tier::stub;
  out.not_probeable = kStub;
  return out;
}

// "(Order.java:12)", "(Order.java)", "(line:12)": what `--sourcepos` writes behind a method, and no
// part of its name.
bool is_position(std::string_view text) {
  const size_t colon = text.rfind(':');
  return text.ends_with(".java)") || text.ends_with(".kt)") || text.ends_with(".scala)") ||
         (colon != std::string_view::npos && colon + 2 < text.size() &&
          std::ranges::all_of(text.substr(colon + 1, text.size() - colon - 2),
                              [](char c) { return c >= '0' && c <= '9'; }));
}

// "long T.f(int, long, java.lang.Object)" (Method::external_name), "T.f(int,long,java.lang.Object)"
// (jitscope's own agent), "LT;::f" and "LT;::f(IJ)V" (perf-map-agent), "T::f", "T::f(int,long)" and
// "T::f(T.java:12)" (its options). Everything else in HotSpot's code cache is no method.
MapName parse_java(std::string_view raw) {
  MapName out = whole(raw);
  out.not_probeable = "a perf map does not tell where its calls enter";
  if (const size_t end = raw.find(";::"); raw.starts_with('L') && end != std::string_view::npos) {
    out.name.type = raw.substr(1, end - 1);
    std::ranges::replace(out.name.type, '/', '.');
    const std::string_view rest = raw.substr(end + 3);
    const size_t signature = java::descriptor_at_end(rest);
    out.name.function = rest.substr(0, signature);
    return out.name.type.empty() || out.name.function.empty() ? stub(raw) : out;
  }
  const size_t open = open_of_last(raw);
  if (is_java_map_name(raw)) {
    const size_t colons = raw.find("::");
    out.name.type = raw.substr(0, colons);
    std::ranges::replace(out.name.type, '/', '.');
    out.name.function = raw.substr(colons + 2, std::min(open, raw.size()) - colons - 2);
    if (open != std::string_view::npos && !is_position(raw.substr(open))) {
      out.name.parameters = compact_parameters(raw.substr(open + 1, raw.size() - open - 2));
      out.name.has_parameters = true;
    }
    return out;
  }
  if (open == std::string_view::npos) return stub(raw);
  const std::string_view before = raw.substr(0, open);
  const size_t dot = before.rfind('.');
  // The first blank ends the result's type, unless the class's name comes before it: method names
  // hold blanks where the language allows it, and no dots.
  const size_t blank = before.find(' ');
  const size_t type = blank == std::string_view::npos || blank > dot ? 0 : blank + 1;
  if (blank == 0 || dot == std::string_view::npos || dot <= type || dot + 1 == before.size()) {
    return stub(raw);
  }
  out.name.type = before.substr(type, dot - type);
  out.name.function = before.substr(dot + 1);
  out.name.parameters = compact_parameters(raw.substr(open + 1, raw.size() - open - 2));
  out.name.has_parameters = true;
  return out;
}

// "$lists:map/2", "$'Elixir.Enum':map/2"; "$lists:map/2-CodeInfoPrologue" (before its code: the end
// with function_clause, and the jump that calls of its own module come through);
// "$lists::codeHeader" and "$global::..." (fragments of the JIT).
MapName parse_erlang(std::string_view raw) {
  std::string_view text = raw;
  if (text.starts_with('$')) text.remove_prefix(1);
  if (text.starts_with("global::")) return stub(raw);
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
    MapName out = fragment ? stub(raw) : whole(raw);
    out.part = function.size() > kPrologue.size() && is_erlang_prologue(function);
    if (out.part) {
      function.remove_suffix(kPrologue.size());
      out.not_probeable = "what lies before the function's code";
    }
    out.name.type = module;
    out.name.function = function;
    return out;
  }
  MapName out = whole(raw);
  if (!text.empty()) out.name.function = text;
  return out;
}

// opcache: "JIT$Ns\\Class::method", "TRACE-6$childonly$3" (ext/opcache/jit/zend_jit_trace.c).
MapName parse_php(std::string_view raw) {
  MapName out = whole(raw);
  if (raw.starts_with("TRACE-")) {
    out.not_probeable = "a trace through several functions, not one function's code";
    return out;
  }
  std::string_view text = raw;
  if (text.starts_with("JIT$$")) return stub(raw);  // helpers of the JIT itself
  if (text.starts_with("JIT$")) text.remove_prefix(4);
  const size_t colons = text.find("::");
  if (colons == std::string_view::npos) {
    if (!text.empty()) out.name.function = text;
  } else if (colons > 0 && colons + 2 < text.size()) {
    out.name.type = text.substr(0, colons);
    out.name.function = text.substr(colons + 2);
  }
  return out;
}

// mono_method_full_name: "(wrapper kind) Ns.Type:Method (int,string)". What is no method
// ("(null)", "throw_exception", trampolines) has no colon.
MapName parse_mono(std::string_view raw) {
  std::string_view text = raw;
  std::string_view wrapper;
  constexpr std::string_view kWrapper = "(wrapper ";
  if (text.starts_with(kWrapper)) {
    const size_t end = text.find(") ");
    if (end == std::string_view::npos) return stub(raw);
    wrapper = text.substr(kWrapper.size(), end - kWrapper.size());
    text.remove_prefix(end + 2);
  }
  MapName out = whole(raw);
  const size_t open = open_of_last(text);
  std::string_view before = text;
  if (open != std::string_view::npos && open > 0) {
    before = text.substr(0, open);
    while (before.ends_with(' ')) before.remove_suffix(1);
  }
  const size_t colon = before.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == before.size()) return stub(raw);
  out.name.type = before.substr(0, colon);
  while (out.name.type.ends_with(':')) out.name.type.pop_back();
  out.name.function = before.substr(colon + 1);
  if (before.size() != text.size()) {
    out.name.parameters = compact_parameters(text.substr(open + 1, text.size() - open - 2));
    out.name.has_parameters = true;
  }
  // It calls the method of its name, which is counted itself. Native and dynamic methods have no
  // other body.
  if (!wrapper.empty() && wrapper != "managed-to-native" && wrapper != "dynamic-method") {
    out.not_probeable = "Mono's wrapper of a method, not the method's own code";
  }
  return out;
}

// "instance void [System.Private.CoreLib] System.Text.StringBuilder::Append(char)[OptimizedTier1]"
// (coreclr: src/coreclr/vm/perfmap.cpp).
MapName parse_dotnet(std::string_view raw) {
  MapName out = whole(raw);
  std::string_view text = raw;
  if (const size_t tier = text.rfind(")["); tier != std::string_view::npos && text.ends_with(']')) {
    out.osr = text.substr(tier).find("OSR") != std::string_view::npos;
    text = text.substr(0, tier + 1);
  }
  const size_t open = open_of_last(text);
  const std::string_view before = open == std::string_view::npos ? text : text.substr(0, open);
  const size_t colons = before.rfind("::");
  if (colons == std::string_view::npos || colons + 2 == before.size()) return out;
  std::string_view type = before.substr(0, colons);
  // Behind the assembly in brackets; generic arguments may hold brackets too, but no "] ".
  if (const size_t end = type.rfind("] "); end != std::string_view::npos) {
    type.remove_prefix(end + 2);
  } else if (const size_t blank = type.rfind(' '); blank != std::string_view::npos) {
    type.remove_prefix(blank + 1);
  }
  if (type.empty()) return out;
  out.name.type = type;
  out.name.function = before.substr(colons + 2);
  if (open != std::string_view::npos) {
    out.name.parameters = text.substr(open + 1, text.size() - open - 2);
    out.name.has_parameters = true;
  }
  if (out.name.function.starts_with("IL_STUB")) {
    out.tier = Tier::stub;
    out.not_probeable = kStub;
  }
  return out;
}

// JavaScriptCore (Bun, WebKit): "JSC-FTL: fib#EoE7sP", "JSC-WasmOMG: fib", "JSC-Thunk: DefaultCall"
// (LinkBuffer::logJITCodeForJITDump; what stands before the colon is the LinkBuffer's profile).
// What is behind the `#` is the code's hash, the same in all tiers.
std::optional<MapName> parse_jsc(std::string_view raw) {
  constexpr std::string_view kPrefix = "JSC-";
  constexpr std::string_view kColon = ": ";
  constexpr std::array<std::pair<std::string_view, Tier>, 5> kTiers = {
      {{"Baseline", Tier::baseline},
       {"DFG", Tier::dfg},
       {"FTL", Tier::ftl},
       {"WasmBBQ", Tier::bbq},
       {"WasmOMG", Tier::omg}}};
  const size_t colon = raw.find(kColon);
  if (!raw.starts_with(kPrefix) || colon == std::string_view::npos) return std::nullopt;
  const std::string_view profile = raw.substr(kPrefix.size(), colon - kPrefix.size());
  if (profile.empty() || profile.contains(' ')) return std::nullopt;
  const auto tier = std::ranges::find(kTiers, profile, &std::pair<std::string_view, Tier>::first);
  const std::string_view function = raw.substr(colon + kColon.size());
  if (tier == kTiers.end() || function.empty()) return stub(raw);
  MapName out = whole(raw);
  out.name.function = function;
  out.tier = tier->second;
  return out;
}

MapName from_v8(V8Name&& v8) {
  MapName out;
  out.name = std::move(v8.name);
  out.tier = v8.tier;
  out.osr = v8.osr;
  if (v8.tier == Tier::stub) {
    out.not_probeable = kStub;
  } else if (v8.tier == Tier::bytecode) {
    out.not_probeable = "bytecode";
  } else if (v8.function) {
    out.convention = CallConvention::v8_x86_64;
  }
  return out;
}

MapName parse_by_runtime(Runtime runtime, std::string_view raw) {
  switch (runtime) {
    case Runtime::hotspot:
      return parse_java(raw);
    case Runtime::erlang:
      return parse_erlang(raw);
    case Runtime::php:
      return parse_php(raw);
    case Runtime::mono:
      return parse_mono(raw);
    case Runtime::dotnet:
      return parse_dotnet(raw);
    case Runtime::v8:
    case Runtime::unknown:
      break;
  }
  // Programs that embed V8 are not known by name; its tags are.
  if (auto v8 = parse_v8_name(raw)) return from_v8(std::move(*v8));
  if (auto jsc = parse_jsc(raw)) return std::move(*jsc);
  return whole(raw);
}

}  // namespace

bool is_erlang_prologue(std::string_view raw) {
  return raw.ends_with(kPrologue);
}

MapName parse_map_name(Runtime runtime, std::string_view raw) {
  MapName out = parse_by_runtime(runtime, raw);
  if (out.osr && out.not_probeable.empty()) out.not_probeable = "OSR body";
  return out;
}

}  // namespace jitscope
