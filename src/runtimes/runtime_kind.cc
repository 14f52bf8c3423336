// The table of runtimes; see runtime_kind.h. Names of files only suggest: advice is all that hangs
// on them.
#include "runtimes/runtime_kind.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/byte_cursor.h"
#include "base/path.h"

namespace jitscope {

struct RuntimeKind::Row {
  std::string_view name;
  Runtime runtime = Runtime::unknown;
  // How names of its executables and libraries begin; a letter behind that is another name.
  std::array<std::string_view, 5> files;
  std::string_view text;
  // Before this version it says something else (0.0: always the same).
  Version since;
  std::string_view older;
  bool never = false;        // no version can be told to write anything
  bool older_never = false;  // no older one can
};

namespace {

bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

bool begins_with(std::string_view name, std::string_view start) {
  if (start.empty() || !name.starts_with(start)) return false;
  return name.size() == start.size() || !is_letter(start.back()) || !is_letter(name[start.size()]);
}

std::optional<uint32_t> take_number(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = parse_decimal(text.substr(0, end));
  text.remove_prefix(end);
  if (!value || *value > UINT16_MAX) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

constexpr std::string_view kUnknown =
    "have the runtime write a jitdump or a perf map, if it can, or give one with --jitdump or "
    "--perf-map";

}  // namespace

const RuntimeKind::Row& RuntimeKind::row_of(uint8_t number) {
  static constexpr std::array kRows = {
      Row{"", Runtime::unknown, {}, kUnknown, {}, "", false, false},
      Row{"OpenJ9",
          Runtime::unknown,
          {"libj9vm"},
          "start the JVM with -Xjit:perfTool (a map)",
          {},
          "",
          false,
          false},
      Row{"HotSpot",
          Runtime::hotspot,
          {"libjvm.so"},
          "record with `jitscope record -p PID` (no flag needed), or run `jcmd PID "
          "Compiler.perfmap` before the process ends",
          {17, 0},
          "record with `jitscope record -p PID` (no flag needed)",
          false,
          false},
      Row{"Node (V8)",
          Runtime::v8,
          {"node", "nodejs", "libnode.so", "libv8.so", "electron"},
          "start node with --perf-prof (a jitdump: right in time) or --perf-basic-prof (a map), "
          "best with --interpreted-frames-native-stack",
          {},
          "",
          false,
          false},
      Row{"Deno (V8)",
          Runtime::v8,
          {"deno"},
          "start deno with --v8-flags=--perf-prof (a jitdump: right in time) or "
          "--v8-flags=--perf-basic-prof (a map)",
          {},
          "",
          false,
          false},
      Row{"V8",
          Runtime::v8,
          {"d8", "chrome", "chromium"},
          "give V8 the flag --perf-prof (a jitdump: right in time) or --perf-basic-prof (a map); a "
          "browser: --js-flags=--perf-basic-prof --no-sandbox",
          {},
          "",
          false,
          false},
      Row{"Bun (JavaScriptCore)",
          Runtime::unknown,
          {"bun"},
          "start bun with BUN_JSC_useJITDump=1 BUN_JSC_jitDumpDirectory=DIR in its environment (a "
          "jitdump, from Bun 1.1 on)",
          {},
          "",
          false,
          false},
      Row{"JavaScriptCore",
          Runtime::unknown,
          {"libjavascriptcoregtk-", "jsc", "libJavaScriptCore.so"},
          "start it with JSC_useJITDump=1 JSC_jitDumpDirectory=DIR in its environment (a jitdump)",
          {},
          "",
          false,
          false},
      Row{".NET",
          Runtime::dotnet,
          {"libcoreclr.so"},
          "start it with DOTNET_PerfMapEnabled=1 (map and jitdump)",
          {6, 0},
          "start it with COMPlus_PerfMapEnabled=1 (a map)",
          false,
          false},
      Row{"Erlang",
          Runtime::erlang,
          {"beam."},
          "start it with +JPperf true (OTP 24 and later)",
          {},
          "",
          false,
          false},
      Row{"PHP",
          Runtime::php,
          {"php", "libphp"},
          "start it with -d opcache.jit_debug=0x30 (0x10: a map, 0x20: a jitdump)",
          {8, 0},
          "PHP before 8.0 compiles nothing",
          false,
          true},
      Row{"Mono",
          Runtime::mono,
          {"mono", "libmonosgen-", "libmonoboehm-"},
          "start it with --jitmap",
          {},
          "",
          false,
          false},
      Row{"LuaJIT",
          Runtime::unknown,
          {"luajit", "libluajit-"},
          "LuaJIT writes neither a map nor a dump: its code cannot be named (with -joff the "
          "interpreter runs, which has names)",
          {},
          "",
          true,
          false},
      Row{"PyPy",
          Runtime::unknown,
          {"pypy", "libpypy"},
          "PyPy writes neither a map nor a dump: its code cannot be named (with --jit off the "
          "interpreter runs, which has names; PYPYLOG=jit-backend-addr:FILE lists its loops' "
          "addresses, of which a map for --perf-map can be made)",
          {},
          "",
          true,
          false},
      Row{"Ruby",
          Runtime::unknown,
          {"ruby", "libruby"},
          "start ruby with --yjit --yjit-perf (a map)",
          {3, 3},
          "Ruby before 3.3 writes neither a map nor a dump: its code cannot be named (3.3 has "
          "--yjit-perf)",
          false,
          true},
      Row{"CPython",
          Runtime::unknown,
          {"python", "libpython"},
          "start python with -X perf (a map), or from 3.13 on with -X perf_jit (a jitdump)",
          {3, 12},
          "CPython before 3.12 compiles nothing and writes neither a map nor a dump: the code is "
          "that "
          "of a library in it, which has to be told",
          false,
          true},
      Row{"PostgreSQL (LLVM)",
          Runtime::unknown,
          {"postgres"},
          "set jit_profiling_support = on (a jitdump below ~/.debug/jit of the server's user) and "
          "start the server anew",
          {},
          "",
          false,
          false},
      Row{"wasmtime",
          Runtime::unknown,
          {"wasmtime"},
          "start wasmtime with --profile jitdump or --profile perfmap",
          {},
          "",
          false,
          false},
      Row{"Julia",
          Runtime::unknown,
          {"julia", "libjulia"},
          "start julia with ENABLE_JITPROFILING=1 in its environment (a jitdump)",
          {},
          "",
          false,
          false},
      Row{"LLVM's lli",
          Runtime::unknown,
          {"lli"},
          "start lli with -jit-kind=mcjit (a jitdump)",
          {},
          "",
          false,
          false},
      Row{"QEMU",
          Runtime::unknown,
          {"qemu-"},
          "start qemu with -perfmap or -jitdump (QEMU 8.0 and later)",
          {},
          "",
          false,
          false},
      Row{"GNOME's JavaScript",
          Runtime::unknown,
          {"gjs", "libgjs.so", "libmozjs-"},
          "SpiderMonkey writes a map only where it was built for that (--enable-perf, then "
          "IONPERF=func "
          "in its environment); others cannot be named",
          {},
          "",
          true,
          false},
  };
  return kRows[number < kRows.size() ? number : 0];
}

RuntimeKind::RuntimeKind(Runtime runtime) {
  if (runtime == Runtime::unknown) return;
  for (uint8_t i = 1; !row_of(i).name.empty(); ++i) {
    if (row_of(i).runtime != runtime) continue;
    row_ = i;
    return;
  }
}

// "libruby-3.1.so.3.1.2": 3.1; of a JVM's and .NET's library the path tells:
// ".../java-17-openjdk-amd64/lib/server/libjvm.so", ".../8.0.1/libcoreclr.so".
RuntimeKind::Version RuntimeKind::version_in(std::string_view path, std::string_view name) {
  std::string_view text = name;
  if (name.starts_with("libjvm.so")) {
    const size_t jdk = std::min(path.find("jdk"), path.find("java-"));
    if (jdk == std::string_view::npos) return {};
    text = path.substr(jdk);
  } else if (name == "libcoreclr.so") {
    text =
        base_name(path.substr(0, path.size() - name.size() - (path.size() > name.size() ? 1 : 0)));
  }
  const size_t digit = text.find_first_of("0123456789");
  if (digit == std::string_view::npos) return {};
  text.remove_prefix(digit);
  Version version;
  const auto first = take_number(text);
  if (!first) return {};
  version.major = *first;
  const bool more = text.size() > 1 && text[0] == '.' && text[1] >= '0' && text[1] <= '9';
  if (!more) return name.starts_with("libjvm.so") || name == "libcoreclr.so" ? version : Version{};
  text.remove_prefix(1);
  version.minor = take_number(text).value_or(0);
  // Java's old way of counting: 1.8 is 8.
  if (name.starts_with("libjvm.so") && version.major == 1) return {version.minor, 0};
  return version;
}

void RuntimeKind::see(std::string_view path) {
  const std::string_view name = base_name(path);
  const bool hotspot = name.starts_with("libjvm.so");
  if (row_ != 0 && !hotspot) {
    // A program without a version in its name may have a library with one.
    if (version_ != Version{}) return;
    for (const std::string_view start : row_of(row_).files) {
      if (begins_with(name, start)) version_ = version_in(path, name);
    }
    return;
  }
  // OpenJ9 has a libjvm.so too.
  if (row_of(row_).name == "OpenJ9") return;
  for (uint8_t i = 1; !row_of(i).name.empty(); ++i) {
    for (const std::string_view start : row_of(i).files) {
      if (!begins_with(name, start)) continue;
      row_ = i;
      version_ = version_in(path, name);
      return;
    }
  }
}

RuntimeKind kind_of(const std::vector<Mapping>& maps) {
  RuntimeKind kind;
  for (const Mapping& mapping : maps) {
    if (mapping.executable && mapping.file_backed()) kind.see(mapping.path);
  }
  return kind;
}

bool RuntimeKind::too_old() const {
  return version_ != Version{} && version_ < row_of(row_).since;
}

std::string_view RuntimeKind::name() const {
  return row_of(row_).name;
}

std::string RuntimeKind::how_to_name() const {
  const Row& row = row_of(row_);
  if (too_old()) return std::string(row.older);
  if (row.older_never && version_ == Version{}) return fmt::format("{}; {}", row.text, row.older);
  return std::string(row.text);
}

bool RuntimeKind::seen_from_outside() const {
  return row_of(row_).runtime == Runtime::hotspot;
}

bool RuntimeKind::hopeless() const {
  const Row& row = row_of(row_);
  return row.never || (row.older_never && too_old());
}

}  // namespace jitscope
