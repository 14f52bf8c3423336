// RuntimeRow: all that jitscope knows of one runtime, in one place: by which files it is
// recognised, how its version is found, how its names are read, where its code may move, what its
// users can do. Each runtime's folder has one; runtimes/all_runtimes.cc lists them. What a row
// leaves out is as for a runtime of which nothing is known.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "code/code_body.h"
#include "code/no_name.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"
#include "runtimes/common/map_name.h"

namespace jitscope {

struct RuntimeInfo {
  Runtime runtime = Runtime::unknown;
  std::string version;         // "17.0.15+6-Debian-1deb12u1", "20.20.2", "" = not known
  std::string library;         // path (in the target's root) of libjvm.so, node, ...
  uint64_t library_base = 0;   // lowest mapping of that file
  bool is_executable = false;  // the library is the process's executable
};

struct RuntimeVersion {
  uint32_t major = 0;
  uint32_t minor = 0;
  auto operator<=>(const RuntimeVersion&) const = default;
};

// A program or library by which a runtime is recognised, and what must be done so that its JIT code
// has names: phrases without their full stop.
struct RuntimeProgram {
  std::string_view name;
  // How names of its executables and libraries begin; a letter behind that is another name.
  std::array<std::string_view, 7> files;
  std::string_view how_to_name;
  // Before this version it says something else (0.0: always the same).
  RuntimeVersion since = {};
  std::string_view older = {};
  bool never = false;        // no version can be told to write anything
  bool older_never = false;  // no older one can
  // Its code lies in images (PE) that are mapped, and named when a recording is read: it lacks no
  // map.
  bool in_images = false;
  // A file of a higher rank makes a process what it is, whatever was seen before.
  uint8_t rank = 0;
  // Where in a path its version stands; null: in the file's name, as MAJOR.MINOR.
  std::string_view (*version_text)(std::string_view path) = nullptr;
};

struct ReasonAdvice {
  NoName reason = NoName::none;
  std::string_view text;
};

// A code source that makes the runtime write down its code.
struct AskedSource {
  std::string_view name;  // "Compiler.perfmap"
  std::string_view command;
  SourceKind kind = SourceKind::perf_map;
  Status (*can)(const Process& process) = nullptr;
  Result<std::unique_ptr<CodeSource>> (*open)(const Process& process,
                                              const RuntimeInfo& info) = nullptr;
};

struct RuntimeRow {
  Runtime runtime = Runtime::unknown;
  std::span<const RuntimeProgram> programs;  // the first stands for the runtime
  std::string (*version)(const Process& process, const RuntimeInfo& info) = nullptr;
  // "" or a version, for an executable of any name with memory that JITs have.
  std::string (*embedded_version)(const Process& process, uint64_t base) = nullptr;

  // Names in its perf maps.
  MapName (*parse)(std::string_view raw) = nullptr;
  // Several methods in one name, outermost first; empty: it is one.
  std::vector<std::string_view> (*unfold)(std::string_view raw) = nullptr;
  // Whether a name is that of what lies before a function's code, where a stack may return to the
  // function's entry without a call before it.
  bool (*lies_before_code)(std::string_view raw) = nullptr;
  // `jitscope record` writes display names for it, not the runtime's own spelling.
  bool recorded_as_shown = false;

  // Its perf map.
  std::string_view how_to_map;           // how it is made to write one
  std::string_view map_caveat = {};      // beyond what every map lacks
  std::string_view empty_map_note = {};  // what to expect of an empty one
  bool map_tells_entries = true;         // where calls enter
  // Directory of the map when it is not /tmp; "" is /tmp. Asked of every process.
  std::string (*map_directory)(const Process& process) = nullptr;

  // Sources of its own, best first: structures in memory, then what it writes when asked.
  SourceKind memory_kind = SourceKind::perf_map;
  std::string_view memory_name = {};
  Result<std::unique_ptr<CodeSource>> (*open_memory)(const Process& process,
                                                     const RuntimeInfo& info) = nullptr;
  const AskedSource* asked = nullptr;
  // "" or why this process compiles nothing at all.
  std::string (*why_compiles_nothing)(const Process& process, const RuntimeInfo& info) = nullptr;

  // "" when code never moves, so that entries may be patched; null: it is not known.
  std::string (*why_not_fixed)(const Process& process) = nullptr;

  // What helps against these reasons, instead of what helps elsewhere.
  std::span<const ReasonAdvice> advice = {};
  // What makes its code keep frame pointers; "" when it has them.
  std::string_view frame_pointer_option = {};
};

// A name from a perf map of this runtime. OSR bodies are marked as not probeable.
[[nodiscard]] MapName parse_map_name(const RuntimeRow& row, std::string_view raw);

}  // namespace jitscope
