#include "runtimes/hotspot/hotspot_runtime.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "code/display_name.h"
#include "formats/java/java_names.h"
#include "runtimes/hotspot/attach.h"
#include "runtimes/hotspot/compiler_perfmap_source.h"
#include "runtimes/hotspot/hotspot_source.h"
#include "runtimes/hotspot/unfolded_name.h"

namespace jitscope {
namespace {

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
  MapName out = whole_map_name(raw);
  out.not_probeable = "a perf map does not tell where its calls enter";
  if (const size_t end = raw.find(";::"); raw.starts_with('L') && end != std::string_view::npos) {
    out.name.type = raw.substr(1, end - 1);
    std::ranges::replace(out.name.type, '/', '.');
    const std::string_view rest = raw.substr(end + 3);
    const size_t signature = java::descriptor_at_end(rest);
    out.name.function = rest.substr(0, signature);
    return out.name.type.empty() || out.name.function.empty() ? stub_map_name(raw) : out;
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
  if (open == std::string_view::npos) return stub_map_name(raw);
  const std::string_view before = raw.substr(0, open);
  const size_t dot = before.rfind('.');
  // The first blank ends the result's type, unless the class's name comes before it: method names
  // hold blanks where the language allows it, and no dots.
  const size_t blank = before.find(' ');
  const size_t type = blank == std::string_view::npos || blank > dot ? 0 : blank + 1;
  if (blank == 0 || dot == std::string_view::npos || dot <= type || dot + 1 == before.size()) {
    return stub_map_name(raw);
  }
  out.name.type = before.substr(type, dot - type);
  out.name.function = before.substr(dot + 1);
  out.name.parameters = compact_parameters(raw.substr(open + 1, raw.size() - open - 2));
  out.name.has_parameters = true;
  return out;
}

// Of a JVM's library the path tells: ".../java-17-openjdk-amd64/lib/server/libjvm.so".
std::string_view version_text(std::string_view path) {
  const size_t jdk = std::min(path.find("jdk"), path.find("java-"));
  if (jdk == std::string_view::npos) return {};
  std::string_view text = path.substr(jdk);
  text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
  // Java's old way of counting: 1.8 is 8.
  if (text.starts_with("1.")) text.remove_prefix(2);
  return text;
}

Result<std::unique_ptr<CodeSource>> open_memory(const Process& process, const RuntimeInfo& info) {
  return open_hotspot_source(process, info.library, info.library_base);
}

std::string version(const Process& process, const RuntimeInfo& info) {
  return hotspot_version(process, info.library, info.library_base);
}

std::string why_compiles_nothing(const Process& process, const RuntimeInfo& info) {
  return why_hotspot_compiles_nothing(process, info.library, info.library_base);
}

std::string never_moves(const Process& /*process*/) {
  return {};
}

constexpr std::array kPrograms = {
    RuntimeProgram{.name = "HotSpot",
                   .files = {"libjvm.so"},
                   .how_to_name =
                       "record with `jitscope record -p PID` (no flag needed), or run `jcmd PID "
                       "Compiler.perfmap` before the process ends",
                   .since = {17, 0},
                   .older = "record with `jitscope record -p PID` (no flag needed)",
                   .rank = 1,
                   .version_text = version_text},
};
constexpr std::array kAdvice = {
    ReasonAdvice{NoName::no_mapping,
                 "the stack walk went astray: start the JVM with -XX:+PreserveFramePointer"},
};
constexpr AskedSource kCompilerPerfmap = {"Compiler.perfmap", "jcmd Compiler.perfmap",
                                          SourceKind::compiler_perfmap, can_attach,
                                          open_compiler_perfmap_source};

}  // namespace

constexpr RuntimeRow kHotspotRuntime = {
    .runtime = Runtime::hotspot,
    .programs = kPrograms,
    .version = version,
    .parse = parse_java,
    .unfold = unfolded_java_parts,
    .recorded_as_shown = true,
    .how_to_map = "run jcmd PID Compiler.perfmap",
    .map_caveat =
        "a perf map of a JVM is a picture of one moment, without tiers, states and entry "
        "points: its methods can be named, not probed",
    .map_tells_entries = false,
    .memory_kind = SourceKind::hotspot_memory,
    .memory_name = "HotSpot structures",
    .open_memory = open_memory,
    .asked = &kCompilerPerfmap,
    .why_compiles_nothing = why_compiles_nothing,
    .why_not_fixed = never_moves,
    .advice = kAdvice,
    .frame_pointer_option = "start the JVM with -XX:+PreserveFramePointer",
};

}  // namespace jitscope
