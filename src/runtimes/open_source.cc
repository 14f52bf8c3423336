// open_code_source: the best source that works for a process, and the reason for each one that does
// not.
#include "runtimes/open_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "runtimes/all_runtimes.h"
#include "runtimes/detect.h"
#include "runtimes/perf_map_source.h"

namespace jitscope {
namespace {

using SourceResult = Result<std::unique_ptr<CodeSource>>;

// The errors of the sources tried, as one.
class Attempts {
 public:
  void add(std::string_view source, const Error& error) {
    reasons_.push_back(fmt::format("{}: {}{}", source, error.what,
                                   error.where.empty() ? "" : fmt::format(" ({})", error.where)));
    if (hint_.empty()) hint_ = error.hint;
    if (error.kind == ErrorKind::not_permitted) kind_ = ErrorKind::not_permitted;
  }
  void advise(std::string hint) {
    if (hint_.empty()) hint_ = std::move(hint);
  }
  [[nodiscard]] Error error(const Process& process) && {
    return Error{kind_,
                 fmt::format("nothing names the JIT code of process {} ({}): {}", process.pid(),
                             process.status().name, fmt::join(reasons_, "; ")),
                 {},
                 std::move(hint_),
                 0};
  }

 private:
  ErrorKind kind_ = ErrorKind::not_possible;
  std::vector<std::string> reasons_;
  std::string hint_;
};

// An error after which no other source is worth a try.
bool ends_the_search(const Error& error) {
  return error.kind == ErrorKind::target_gone;
}

}  // namespace

SourceResult open_code_source(const Process& process, const SourceOptions& options) {
  JITSCOPE_ASSIGN(const RuntimeInfo info, detect_runtime(process));
  return open_code_source(process, info, options);
}

SourceResult open_code_source(const Process& process, const RuntimeInfo& info,
                              const SourceOptions& options) {
  JITSCOPE_ASSIGN(const std::vector<Mapping> maps, process.maps());
  // A map that the user names is what the user wants.
  if (!options.map_path.empty()) return open_perf_map_source(process, info.runtime, options);
  if (find_jit_mappings(process, maps).empty()) {
    return fail(
        ErrorKind::not_found,
        fmt::format("process {} ({}) has no JIT code: an ELF file backs all its executable memory",
                    process.pid(), process.status().name),
        {}, "its functions are probed by the usual tools (perf probe, bpftrace uprobe)");
  }

  Attempts attempts;
  const RuntimeRow& row = row_of(info.runtime);
  if (row.open_memory != nullptr) {
    auto source = row.open_memory(process, info);
    if (source || ends_the_search(source.error())) return source;
    attempts.add(row.memory_name, source.error());
  }
  auto map = open_perf_map_source(process, info.runtime, options);
  if (map || ends_the_search(map.error())) return map;
  attempts.add("perf map", map.error());
  if (row.asked != nullptr && options.allow_attach) {
    auto source = row.asked->open(process, info);
    if (source || ends_the_search(source.error())) return source;
    attempts.add(row.asked->name, source.error());
  }
  const RuntimeKind kind = kind_of(maps);
  attempts.advise(kind.name().empty() ? std::string(row.how_to_map) : kind.how_to_map());
  return fail(std::move(attempts).error(process));
}

}  // namespace jitscope
