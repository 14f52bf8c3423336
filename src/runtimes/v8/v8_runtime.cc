#include "runtimes/v8/v8_runtime.h"

#include <fmt/format.h>
#include <array>

#include "base/open_file.h"
#include "runtimes/v8/node_version.h"
#include "runtimes/v8/v8_flags.h"
#include "runtimes/v8/v8_name.h"

namespace jitscope {
namespace {

V8Flags flags_of(const Process& process) {
  return read_v8_flags(process.arguments(), process.environment("NODE_OPTIONS"));
}

std::string map_directory(const Process& process) {
  return flags_of(process).map_directory;
}

std::string why_not_fixed(const Process& process) {
  if (flags_of(process).code_is_fixed) return {};
  return "V8 may move code: start the program with --perf-basic-prof, which keeps it in place";
}

std::string version(const Process& process, const RuntimeInfo& info) {
  return info.is_executable
             ? node_version(process, "", fmt::format("/proc/{}/exe", process.pid()),
                            info.library_base)
             : node_version(process, root_of(process.pid()), info.library, info.library_base);
}

// A program that was built with node has another name, but the same symbols.
std::string embedded_version(const Process& process, uint64_t base) {
  return node_version(process, "", fmt::format("/proc/{}/exe", process.pid()), base);
}

MapName parse(std::string_view raw) {
  return parse_v8_map_name(raw).value_or(whole_map_name(raw));
}

constexpr std::string_view kWritesLate =
    "the dump was started late, or node was killed: V8 writes its jitdump in blocks, and the last "
    "one is lost then; let node end by itself, or use --perf-basic-prof";
constexpr std::array kAdvice = {ReasonAdvice{NoName::no_body_then, kWritesLate},
                                ReasonAdvice{NoName::empty_dump, kWritesLate}};
constexpr std::array kPrograms = {
    RuntimeProgram{
        .name = "Node (V8)",
        .files = {"node", "nodejs", "libnode.so", "libv8.so", "electron"},
        .how_to_name =
            "start node with --perf-prof (a jitdump: right in time) or --perf-basic-prof "
            "(a map), best with --interpreted-frames-native-stack"},
    RuntimeProgram{.name = "Deno (V8)",
                   .files = {"deno"},
                   .how_to_name =
                       "start deno with --v8-flags=--perf-prof (a jitdump: right in time) "
                       "or --v8-flags=--perf-basic-prof (a map)"},
    RuntimeProgram{.name = "V8",
                   .files = {"d8", "chrome", "chromium"},
                   .how_to_name = "give V8 the flag --perf-prof (a jitdump: right in time) or "
                                  "--perf-basic-prof (a map); a browser: "
                                  "--js-flags=--perf-basic-prof --no-sandbox"},
};

}  // namespace

constexpr RuntimeRow kV8Runtime = {
    .runtime = Runtime::v8,
    .programs = kPrograms,
    .version = version,
    .embedded_version = embedded_version,
    .parse = parse,
    .how_to_map = "start node with --perf-basic-prof",
    .map_directory = map_directory,
    .why_not_fixed = why_not_fixed,
    .advice = kAdvice,
};

}  // namespace jitscope
