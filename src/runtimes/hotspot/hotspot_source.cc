// Joins HotspotReader to a live process; see hotspot_source.h.
#include "runtimes/hotspot/hotspot_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "base/open_file.h"
#include "base/same_file.h"
#include "base/work_limit.h"
#include "runtimes/hotspot/hotspot_reader.h"
#include "runtimes/hotspot/libjvm_file.h"
#include "runtimes/hotspot/vm_flags.h"
#include "runtimes/hotspot/vm_release.h"

namespace jitscope {
namespace {

// A JVM with 100,000 compiled methods is read in half a second; one that lies may go on for ever.
constexpr std::chrono::seconds kLongestRead{5};

using hotspot::HotspotReader;
using hotspot::LibjvmFile;
using hotspot::SymbolLookup;
using hotspot::VmStructs;

SymbolLookup lookup_in(const LibjvmFile& file, uint64_t base) {
  return [&file, base](std::string_view symbol) { return file.address(symbol, base); };
}

// Where the library may be opened, best first: by its path in the target's root, or, for one that
// was deleted, replaced or lies in a mount namespace out of reach, through the mapping itself.
struct Place {
  std::string root;
  std::string path;
};
std::vector<Place> places_of(const Process& process, const std::string& path, uint64_t base) {
  std::vector<Place> places{{root_of(process.pid()), path}};
  if (const auto maps = process.maps()) {
    const Mapping* mapping = find_mapping(*maps, base);
    if (mapping != nullptr && mapping->file_backed()) {
      places.insert(mapping->deleted ? places.begin() : places.end(),
                    Place{"", mapping->map_files_path(process.pid())});
    }
  }
  return places;
}

// Calls `use` with the library as found at one place after the other, until one works.
template <typename Use>
auto with_libjvm(const Process& process, const std::string& path, uint64_t base, Use&& use)
    -> decltype(use(std::declval<LibjvmFile&>())) {
  std::optional<Error> first_error;
  for (const Place& place : places_of(process, path, base)) {
    auto file = LibjvmFile::open(place.path, place.root);
    if (file) file->path = place.root + place.path;
    if (!file) {
      if (!first_error) first_error = std::move(file.error());
      continue;
    }
    auto result = use(*file);
    if (result) return result;
    if (!first_error) first_error = std::move(result.error());
  }
  // Of a process that exited meanwhile the other errors say nothing.
  JITSCOPE_TRY(process.check_same());
  return fail(std::move(*first_error));
}

// The file's name as others may open it; "" where it would lead them to another file (a link to an
// absolute path in the target's root does).
std::string name_for_others(const LibjvmFile& file) {
  struct stat found{};
  const bool same = ::stat(file.path.c_str(), &found) == 0 && same_file(found, file.status);
  return same ? file.path : std::string();
}

class HotspotSource : public CodeSource {
 public:
  HotspotSource(const Process& process, HotspotReader reader, std::string probe_file)
      : process_(process), reader_(std::move(reader)), probe_file_(std::move(probe_file)) {}

  Result<Snapshot> read() override {
    const WorkLimit limit{kLongestRead};
    auto snapshot = reader_.read(process_.memory(), diagnostics_);
    // A process that exited or called exec in between gave half of its bodies, or none.
    JITSCOPE_TRY(process_.check_same());
    return snapshot;
  }

  Result<std::vector<std::shared_ptr<const MethodName>>> loaded_methods() override {
    const WorkLimit limit{kLongestRead};
    auto methods = reader_.loaded_methods(process_.memory(), diagnostics_);
    JITSCOPE_TRY(process_.check_same());
    return methods;
  }
  Result<std::vector<BodyDetail>> details(std::span<const CodeBody* const> bodies) override {
    const WorkLimit limit{kLongestRead};
    auto details = reader_.details(process_.memory(), diagnostics_, bodies);
    JITSCOPE_TRY(process_.check_same());
    return details;
  }
  [[nodiscard]] bool knows_loaded_methods() const override {
    return reader_.knows_loaded_methods();
  }

  void only_places() override { reader_.only_places(); }
  [[nodiscard]] SourceKind kind() const override { return SourceKind::hotspot_memory; }
  [[nodiscard]] std::string describe() const override { return "HotSpot structures in memory"; }
  // HotSpot moves no nmethod unless it is told to; it frees it and may put another one there, which
  // the identity checks of the body find out.
  [[nodiscard]] bool code_is_fixed() const override { return reader_.why_code_may_move().empty(); }
  [[nodiscard]] std::string movable_reason() const override { return reader_.why_code_may_move(); }
  [[nodiscard]] std::string load_probe_file() const override { return probe_file_; }

 private:
  const Process& process_;
  HotspotReader reader_;
  std::string probe_file_;
};

}  // namespace

Result<std::unique_ptr<CodeSource>> open_hotspot_source(const Process& process,
                                                        const std::string& libjvm_path_in_target,
                                                        uint64_t libjvm_base) {
  return with_libjvm(
      process, libjvm_path_in_target, libjvm_base,
      [&](LibjvmFile& file) -> Result<std::unique_ptr<CodeSource>> {
        const auto convention =
            file.x86_64 ? CallConvention::hotspot_x86_64 : CallConvention::unknown;
        JITSCOPE_ASSIGN(
            HotspotReader reader,
            HotspotReader::open(process.memory(), lookup_in(file, libjvm_base), convention));
        return std::make_unique<HotspotSource>(
            process, std::move(reader), file.load_probes ? name_for_others(file) : std::string{});
      });
}

std::string hotspot_version(const Process& process, const std::string& libjvm_path_in_target,
                            uint64_t libjvm_base) {
  const auto version = with_libjvm(
      process, libjvm_path_in_target, libjvm_base, [&](LibjvmFile& file) -> Result<std::string> {
        JITSCOPE_ASSIGN(const VmStructs structs,
                        VmStructs::read(process.memory(), lookup_in(file, libjvm_base)));
        return hotspot::read_vm_release(process.memory(), structs);
      });
  return version.value_or("");
}

std::string why_hotspot_compiles_nothing(const Process& process,
                                         const std::string& libjvm_path_in_target,
                                         uint64_t libjvm_base) {
  std::string asked_for;
  for (const std::string& argument : process.arguments()) {
    if (argument == "-Xint" || argument == "-XX:TieredStopAtLevel=0") {
      asked_for = fmt::format("it was started with {}", argument);
    }
  }
  const auto structs =
      with_libjvm(process, libjvm_path_in_target, libjvm_base, [&](const LibjvmFile& file) {
        return VmStructs::read(process.memory(), lookup_in(file, libjvm_base));
      });
  if (!structs) return asked_for;
  const auto compiles = hotspot::read_bool_flag(process.memory(), *structs, "UseCompiler");
  if (compiles && *compiles == false) {
    return asked_for.empty() ? "its compilers are off (-Xint, or a full code cache)" : asked_for;
  }
  // A number from 0 to 4: its first byte tells whether it is 0.
  const auto stops = hotspot::read_bool_flag(process.memory(), *structs, "TieredStopAtLevel");
  if (stops && *stops == false) return "it was started with -XX:TieredStopAtLevel=0";
  return {};
}

}  // namespace jitscope
