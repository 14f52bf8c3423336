// Recognising runtimes by the files they map, and what can be done with a process; see detect.h.
// Names of files only suggest a runtime: the structures and maps that are read afterwards decide.
#include "runtimes/detect.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "base/open_file.h"
#include "base/path.h"
#include "base/work_limit.h"
#include "process/rights.h"
#include "process/word_size.h"
#include "runtimes/attach.h"
#include "runtimes/hotspot/hotspot_source.h"
#include "runtimes/machine.h"
#include "runtimes/perf_map_source.h"
#include "runtimes/runtime_hints.h"
#include "runtimes/v8/node_version.h"

namespace jitscope {
namespace {

Runtime runtime_of_library(std::string_view name) {
  if (name == "libjvm.so") return Runtime::hotspot;
  if (name == "libcoreclr.so") return Runtime::dotnet;
  if (name.starts_with("libnode.so") || name.starts_with("libv8.so")) return Runtime::v8;
  if (name.starts_with("libmonosgen-") || name.starts_with("libmonoboehm-")) return Runtime::mono;
  if (name.starts_with("libphp") && name.find(".so") != std::string_view::npos) return Runtime::php;
  return Runtime::unknown;
}

Runtime runtime_of_executable(std::string_view name) {
  constexpr std::array<std::string_view, 7> kV8 = {"node",   "nodejs",   "deno",    "d8",
                                                   "chrome", "chromium", "electron"};
  if (std::ranges::find(kV8, name) != kV8.end() || name.starts_with("node-")) return Runtime::v8;
  if (name.starts_with("beam.")) return Runtime::erlang;
  if (name == "mono" || name.starts_with("mono-sgen")) return Runtime::mono;
  if (name.starts_with("php")) return Runtime::php;
  return Runtime::unknown;
}

// The component of a path before its last `up` ones:
// ".../Microsoft.NETCore.App/8.0.1/libcoreclr.so".
std::string_view component(std::string_view path, unsigned up) {
  while (up-- > 0) path = path.substr(0, std::min(path.rfind('/'), path.size()));
  return base_name(path);
}

bool starts_with_digit(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

// The lowest mapping of the file with that path.
uint64_t lowest_mapping(const std::vector<Mapping>& maps, std::string_view path) {
  for (const Mapping& mapping : maps) {
    if (mapping.file_backed() && mapping.path == path) return mapping.start;
  }
  return 0;
}

bool has_jit_like_mapping(const std::vector<Mapping>& maps) {
  return std::ranges::any_of(maps, [](const Mapping& mapping) {
    return mapping.executable && !mapping.file_backed() && mapping.path.empty();
  });
}

std::string version_of(const Process& process, const RuntimeInfo& info, bool is_executable) {
  switch (info.runtime) {
    case Runtime::hotspot:
      return hotspot_version(process, info.library, info.library_base);
    case Runtime::v8:
      return node_version(process, is_executable ? "" : root_of(process.pid()),
                          is_executable ? fmt::format("/proc/{}/exe", process.pid()) : info.library,
                          info.library_base);
    case Runtime::dotnet: {
      const std::string_view version = component(info.library, 1);
      return starts_with_digit(version) ? std::string(version) : std::string();
    }
    case Runtime::erlang: {
      // ".../erts-13.1.5/bin/beam.smp"
      const std::string_view erts = component(info.library, 2);
      return erts.starts_with("erts-") ? std::string(erts) : std::string();
    }
    case Runtime::php: {
      const std::string_view version = base_name(info.library).substr(3);
      return starts_with_digit(version) ? std::string(version) : std::string();
    }
    case Runtime::mono:
    case Runtime::unknown:
      break;
  }
  return {};
}

// "" or why the memory of this process cannot be read or changed now.
std::string why_out_of_reach(const Process& process, const std::vector<Mapping>& maps) {
  const auto status = read_status(process.pid());
  if (status && status->tracer_pid != 0) {
    const auto tracer = read_status(status->tracer_pid);
    return fmt::format("traced by process {} ({}): end that first", status->tracer_pid,
                       tracer ? tracer->name : "?");
  }
  for (const Mapping& mapping : maps) {
    if (!mapping.readable || mapping.path.starts_with("[v")) continue;
    std::array<std::byte, 1> byte{};
    const Status read = process.memory().read(mapping.start, byte);
    if (!read && read.error().kind == ErrorKind::not_permitted) {
      return "reading its memory needs root or CAP_SYS_PTRACE";
    }
    break;
  }
  if (is_32_bit(process)) return "a 32-bit program";
  return {};
}

std::string in_one_line(const Error& error) {
  return error.hint.empty() ? error.what : fmt::format("{}: {}", error.what, error.hint);
}

// "" or, for a map without a line, what to expect of it.
std::string why_still_empty(const Process& process, const PerfMapPlace& place, Runtime runtime) {
  struct stat info{};
  const auto file = open_perf_map(process, place, false);
  if (!file || ::fstat(file->get(), &info) != 0 || info.st_size != 0) return {};
  return runtime == Runtime::mono
             ? " is empty so far: Mono writes it in blocks of 4 KB, and the rest when it ends"
             : " is empty so far";
}

// The sources of a process with JIT code, best first.
std::vector<SourceFinding> find_sources(const Process& process, const RuntimeInfo& runtime,
                                        const RuntimeKind& kind) {
  std::vector<SourceFinding> found;
  bool structures = false;
  if (runtime.runtime == Runtime::hotspot) {
    const auto source = open_hotspot_source(process, runtime.library, runtime.library_base);
    structures = source.has_value();
    found.push_back({SourceKind::hotspot_memory, structures,
                     structures ? (*source)->describe() : in_one_line(source.error())});
  }
  const auto map = find_perf_map(process, {});
  const bool none = !map && map.error().kind == ErrorKind::not_found;
  if (map) {
    const std::string nothing = why_still_empty(process, *map, runtime.runtime);
    found.push_back({SourceKind::perf_map, nothing.empty(), map->shown() + nothing});
  } else if (!none || runtime.runtime != Runtime::hotspot) {
    found.push_back(
        {SourceKind::perf_map, false,
         none ? how_to_get_a_perf_map(runtime.runtime, kind) : in_one_line(map.error())});
  }
  if (runtime.runtime == Runtime::hotspot && !structures) {
    const Status can = can_attach(process);
    found.push_back({SourceKind::compiler_perfmap, can.has_value(),
                     can ? "jcmd Compiler.perfmap" : in_one_line(can.error())});
  }
  return found;
}

void judge(const Process& process, const std::vector<Mapping>& maps, ProcessFindings& findings) {
  findings.not_probeable = why_out_of_reach(process, maps);
  if (!findings.not_probeable.empty()) return;
  const auto usable = std::ranges::find_if(findings.sources, &SourceFinding::usable);
  if (usable == findings.sources.end()) {
    findings.not_probeable =
        findings.sources.empty() ? "nothing names its code" : findings.sources.front().detail;
    return;
  }
  if (findings.runtime.runtime == Runtime::hotspot && usable->kind != SourceKind::hotspot_memory) {
    findings.not_probeable =
        fmt::format("its methods can be named, but where calls enter is not known ({})",
                    findings.sources.front().detail);
    return;
  }
  if (const std::string machine = foreign_machine(process, findings.runtime); !machine.empty()) {
    findings.not_probeable =
        fmt::format("its runtime is for {}, run by an emulator: its methods can be named", machine);
    return;
  }
  const std::string no_probes = why_no_probes();
  const auto offer = [&](std::string_view backend, const std::string& reason) {
    if (reason.empty()) {
      findings.backends.emplace_back(backend);
    } else {
      findings.withheld.push_back({std::string(backend), reason});
    }
  };
  if (why_code_is_not_fixed(process, findings.runtime.runtime).empty()) {
    const std::string no_surgery = why_no_surgery(process);
    findings.exposable = no_surgery.empty();
    offer("trampoline", no_surgery.empty() ? no_probes : no_surgery);
  }
  offer("breakpoint", no_probes);
}

}  // namespace

Runtime runtime_of_file(std::string_view path) {
  const std::string_view name = base_name(path);
  const Runtime library = runtime_of_library(name);
  return library != Runtime::unknown ? library : runtime_of_executable(name);
}

RuntimeInfo detect_runtime(const Process& process, const std::vector<Mapping>& maps) {
  RuntimeInfo info;
  bool openj9 = false;
  for (const Mapping& mapping : maps) {
    if (!mapping.file_backed()) continue;
    const std::string_view name = base_name(mapping.path);
    openj9 = openj9 || name.starts_with("libj9vm");
    const Runtime runtime = runtime_of_library(name);
    if (runtime == Runtime::unknown || info.runtime == Runtime::hotspot) continue;
    if (info.runtime != Runtime::unknown && runtime != Runtime::hotspot) continue;
    info.runtime = runtime;
    info.library = mapping.path;
    info.library_base = mapping.start;
  }
  // OpenJ9 has a libjvm.so too, but none of HotSpot's structures.
  if (openj9) return {};
  bool is_executable = false;
  if (info.runtime == Runtime::unknown) {
    info.library = process.executable();
    info.library_base = lowest_mapping(maps, info.library);
    info.runtime = runtime_of_executable(base_name(info.library));
    is_executable = true;
    if (info.runtime == Runtime::unknown && has_jit_like_mapping(maps)) {
      // A program that was built with node has another name, but the same symbols.
      info.version =
          node_version(process, "", fmt::format("/proc/{}/exe", process.pid()), info.library_base);
      if (!info.version.empty()) info.runtime = Runtime::v8;
    }
    if (info.runtime == Runtime::unknown) return {};
  }
  if (info.version.empty()) info.version = version_of(process, info, is_executable);
  return info;
}

Result<ProcessFindings> examine(const Process& process) {
  const WorkLimit limit{std::chrono::seconds(5)};
  JITSCOPE_ASSIGN(const std::vector<Mapping> maps, process.maps());
  ProcessFindings findings;
  findings.jit_mappings = find_jit_mappings(process, maps);
  if (findings.jit_mappings.empty()) {
    findings.not_probeable = "no code that no ELF file backs";
    return findings;
  }
  for (const JitMapping& jit : findings.jit_mappings) findings.jit_bytes += jit.mapping.size();
  findings.runtime = detect_runtime(process, maps);
  findings.sources = find_sources(process, findings.runtime, kind_of(maps));
  judge(process, maps, findings);
  return findings;
}

}  // namespace jitscope
