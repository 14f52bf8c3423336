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
#include "runtimes/all_runtimes.h"
#include "runtimes/machine.h"
#include "runtimes/perf_map_source.h"

namespace jitscope {
namespace {

// The lowest mapping of the file with that path.
uint64_t lowest_mapping(const std::vector<Mapping>& maps, std::string_view path) {
  for (const Mapping& mapping : maps) {
    if (mapping.file_backed() && mapping.path == path) return mapping.start;
  }
  return 0;
}

bool is_memfd(const Mapping& mapping) {
  return mapping.path.starts_with("/memfd:");
}

bool has_jit_like_mapping(const std::vector<Mapping>& maps) {
  return std::ranges::any_of(maps, [](const Mapping& mapping) {
    return mapping.executable && !mapping.file_backed() && mapping.path.empty();
  });
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
std::string why_still_empty(const Process& process, const PerfMapPlace& place,
                            const RuntimeRow& row) {
  struct stat info{};
  const auto file = open_perf_map(process, place, false);
  if (!file || ::fstat(file->get(), &info) != 0 || info.st_size != 0) return {};
  return fmt::format(" is empty so far{}", row.empty_map_note);
}

// The sources of a process with JIT code, best first.
std::vector<SourceFinding> find_sources(const Process& process, const RuntimeInfo& runtime,
                                        const RuntimeKind& kind) {
  const RuntimeRow& row = row_of(runtime.runtime);
  std::vector<SourceFinding> found;
  bool structures = false;
  if (row.open_memory != nullptr) {
    const auto source = row.open_memory(process, runtime);
    structures = source.has_value();
    found.push_back({row.memory_kind, structures,
                     structures ? (*source)->describe() : in_one_line(source.error())});
  }
  const auto map = find_perf_map(process, {});
  const bool none = !map && map.error().kind == ErrorKind::not_found;
  if (map) {
    const std::string nothing = why_still_empty(process, *map, row);
    found.push_back({SourceKind::perf_map, nothing.empty(), map->shown() + nothing});
  } else if (!none || (row.open_memory == nullptr && !kind.in_images())) {
    found.push_back(
        {SourceKind::perf_map, false, none ? kind.how_to_map() : in_one_line(map.error())});
  }
  if (row.asked != nullptr && !structures) {
    const Status can = row.asked->can(process);
    found.push_back({row.asked->kind, can.has_value(),
                     can ? std::string(row.asked->command) : in_one_line(can.error())});
  }
  return found;
}

void judge(const Process& process, const std::vector<Mapping>& maps, ProcessFindings& findings) {
  findings.not_probeable = why_out_of_reach(process, maps);
  if (!findings.not_probeable.empty()) return;
  const auto usable = std::ranges::find_if(findings.sources, &SourceFinding::usable);
  if (usable == findings.sources.end() && findings.kind.in_images()) {
    findings.not_probeable =
        "its code lies in images for Windows: a recording of it is named by them";
    return;
  }
  if (usable == findings.sources.end()) {
    findings.not_probeable =
        findings.sources.empty() ? "nothing names its code" : findings.sources.front().detail;
    return;
  }
  const RuntimeRow& row = row_of(findings.runtime.runtime);
  if (!row.map_tells_entries && usable->kind != row.memory_kind) {
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

std::string_view runtime_name(const ProcessFindings& findings) {
  return findings.kind.in_images() ? findings.kind.name() : to_string(findings.runtime.runtime);
}

Runtime runtime_of_file(std::string_view path) {
  RuntimeKind kind;
  kind.see(path);
  return kind.runtime();
}

RuntimeInfo detect_runtime(const Process& process, const std::vector<Mapping>& maps) {
  RuntimeInfo info;
  RuntimeKind kind;
  const auto look = [&](bool executable, bool memfd) {
    for (const Mapping& mapping : maps) {
      if (mapping.executable != executable || !mapping.file_backed()) continue;
      if (is_memfd(mapping) != memfd) continue;
      if (kind.see(mapping.path)) info.library = mapping.path;
    }
  };
  const std::string executable = process.executable();
  look(true, false);
  if (kind.name().empty()) {
    // Memory that only one runtime names so: its library is a part of the program.
    look(true, true);
    if (!kind.name().empty()) info.library = executable;
  }
  // An emulator's CPU runs what this one must not.
  if (kind.runtime() == Runtime::unknown) look(false, false);
  info.runtime = kind.runtime();
  if (info.runtime == Runtime::unknown) {
    info.library.clear();
    if (!kind.name().empty() || !has_jit_like_mapping(maps)) return info;
    const uint64_t base = lowest_mapping(maps, executable);
    for (const RuntimeRow* row : all_runtimes()) {
      if (row->embedded_version == nullptr) continue;
      info.version = row->embedded_version(process, base);
      if (info.version.empty()) continue;
      info.runtime = row->runtime;
      info.library = executable;
      break;
    }
    if (info.runtime == Runtime::unknown) return info;
  }
  info.is_executable = info.library == executable;
  info.library_base = lowest_mapping(maps, info.library);
  const RuntimeRow& row = row_of(info.runtime);
  if (info.version.empty() && row.version != nullptr) info.version = row.version(process, info);
  return info;
}

Result<RuntimeInfo> detect_runtime(const Process& process) {
  JITSCOPE_ASSIGN(const std::vector<Mapping> maps, process.maps());
  return detect_runtime(process, maps);
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
  findings.kind = kind_of(maps);
  if (findings.kind.name().empty()) findings.kind = RuntimeKind(findings.runtime.runtime);
  findings.sources = find_sources(process, findings.runtime, findings.kind);
  judge(process, maps, findings);
  return findings;
}

}  // namespace jitscope
