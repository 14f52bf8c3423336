#include "runtimes/others/other_runtimes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "code/display_name.h"
#include "runtimes/v8/v8_name.h"

namespace jitscope {
namespace {

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
  if (tier == kTiers.end() || function.empty()) return stub_map_name(raw);
  MapName out = whole_map_name(raw);
  out.name.function = function;
  out.tier = tier->second;
  return out;
}

// Programs that embed V8 are not known by name; its tags are.
MapName parse(std::string_view raw) {
  if (auto v8 = parse_v8_map_name(raw)) return std::move(*v8);
  if (auto jsc = parse_jsc(raw)) return std::move(*jsc);
  return whole_map_name(raw);
}

constexpr std::array kPrograms = {
    // What it runs may have any name, and map libraries of any runtime.
    RuntimeProgram{.name = "Wine",
                   .files = {"ntdll.so", "wine"},
                   .how_to_name =
                       "Windows programs are named by the images that the recording says were "
                       "mapped: `jitscope record` and `perf record -d` say so of all, perf without "
                       "-d does not; code that such a program makes itself has no names",
                   .in_images = true,
                   .rank = 3},
    // It has a libjvm.so too, but none of HotSpot's structures.
    RuntimeProgram{.name = "OpenJ9",
                   .files = {"libj9vm"},
                   .how_to_name = "start the JVM with -Xjit:perfTool (a map)",
                   .rank = 2},
    RuntimeProgram{.name = "Bun (JavaScriptCore)",
                   .files = {"bun"},
                   .how_to_name =
                       "start bun with BUN_JSC_useJITDump=1 BUN_JSC_jitDumpDirectory=DIR in its "
                       "environment (a jitdump, from Bun 1.1 on)"},
    RuntimeProgram{.name = "JavaScriptCore",
                   .files = {"libjavascriptcoregtk-", "jsc", "libJavaScriptCore.so"},
                   .how_to_name = "start it with JSC_useJITDump=1 JSC_jitDumpDirectory=DIR in its "
                                  "environment (a jitdump)"},
    RuntimeProgram{.name = "LuaJIT",
                   .files = {"luajit", "libluajit-"},
                   .how_to_name =
                       "LuaJIT writes neither a map nor a dump: its code cannot be named "
                       "(with -joff the interpreter runs, which has names)",
                   .never = true},
    RuntimeProgram{
        .name = "PyPy",
        .files = {"pypy", "libpypy"},
        .how_to_name =
            "PyPy writes neither a map nor a dump: its code cannot be named (with --jit off the "
            "interpreter runs, which has names; PYPYLOG=jit-backend-addr:FILE lists its loops' "
            "addresses, of which a map for --perf-map can be made)",
        .never = true},
    RuntimeProgram{.name = "Ruby",
                   .files = {"ruby", "libruby"},
                   .how_to_name = "start ruby with --yjit --yjit-perf (a map)",
                   .since = {3, 3},
                   .older = "Ruby before 3.3 writes neither a map nor a dump: its code cannot be "
                            "named (3.3 has --yjit-perf)",
                   .older_never = true},
    RuntimeProgram{.name = "CPython",
                   .files = {"python", "libpython"},
                   .how_to_name = "start python with -X perf (a map), or from 3.13 on with -X "
                                  "perf_jit (a jitdump)",
                   .since = {3, 12},
                   .older = "CPython before 3.12 compiles nothing and writes neither a map nor a "
                            "dump: the code is that of a library in it, which has to be told",
                   .older_never = true},
    RuntimeProgram{.name = "PostgreSQL (LLVM)",
                   .files = {"postgres"},
                   .how_to_name = "set jit_profiling_support = on (a jitdump below ~/.debug/jit of "
                                  "the server's user) and start the server anew"},
    RuntimeProgram{.name = "wasmtime",
                   .files = {"wasmtime"},
                   .how_to_name = "start wasmtime with --profile jitdump or --profile perfmap"},
    RuntimeProgram{
        .name = "Julia",
        .files = {"julia", "libjulia"},
        .how_to_name = "start julia with ENABLE_JITPROFILING=1 in its environment (a jitdump)"},
    RuntimeProgram{.name = "LLVM's lli",
                   .files = {"lli"},
                   .how_to_name = "start lli with -jit-kind=mcjit (a jitdump)"},
    RuntimeProgram{.name = "QEMU",
                   .files = {"qemu-"},
                   .how_to_name = "start qemu with -perfmap or -jitdump (QEMU 8.0 and later)"},
    RuntimeProgram{.name = "GNOME's JavaScript",
                   .files = {"gjs", "libgjs.so", "libmozjs-"},
                   .how_to_name =
                       "SpiderMonkey writes a map only where it was built for that (--enable-perf, "
                       "then IONPERF=func in its environment); others cannot be named",
                   .never = true},
};

}  // namespace

constexpr RuntimeRow kOtherRuntimes = {
    .runtime = Runtime::unknown,
    .programs = kPrograms,
    .parse = parse,
    .how_to_map = "its runtime must write /tmp/perf-PID.map (python -X perf, for one)",
};

}  // namespace jitscope
