// See pe_source.h.
#include "mapped_code/pe_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/plural.h"
#include "base/work_limit.h"
#include "runtimes/all_runtimes.h"
#include "symbolize/demangle.h"

namespace jitscope {
namespace {

// The 89 images of a .NET 8 program with 117,000 methods take a quarter of a second.
constexpr std::chrono::seconds kLongestDecoding{10};
constexpr size_t kMostFunctions = 4'000'000;

std::shared_ptr<const MethodName> native_name(const PeName& name) {
  auto out = std::make_shared<MethodName>();
  out->function = name.source == PeNameSource::symbol ? demangle(name.raw) : name.raw;
  out->raw = name.raw;
  return out;
}

}  // namespace

PeSource::PeSource(const Process& process, Runtime runtime, std::string jit)
    : process_(process), runtime_(runtime), jit_(std::move(jit)), mappings_(process) {}

Result<std::unique_ptr<PeSource>> PeSource::open(const Process& process, Runtime runtime,
                                                 std::string jit) {
  std::unique_ptr<PeSource> source(new PeSource(process, runtime, std::move(jit)));
  JITSCOPE_ASSIGN(const std::vector<Mapping> maps, process.maps());
  if (source->mappings_.look(maps).empty()) {
    return fail(ErrorKind::not_found, "the process runs code of no PE image");
  }
  return source;
}

const PeSource::Functions& PeSource::functions_of(const MappedPe& image) {
  const auto [known, fresh] = functions_.try_emplace(image.id);
  Functions& functions = known->second;
  if (!fresh) return functions;
  const std::shared_ptr<const OpenedFile> file(image.file, &image.file->opened);
  // Its debug file lies where it does, in its process's root.
  PeDebugSearch search{image.path, {}};
  if (process_.other_mount_namespace()) search.options.root = root_of(process_.pid());
  auto opened = PeFile::open(file, image.part, image.name, std::move(search));
  if (!opened) {
    diagnostics_.note("image that is not read", image.name + ": " + to_string(opened.error()));
  } else {
    const Status read = (*opened)->for_each_function([&](const PeName& name) -> Status {
      if (WorkLimit::over()) return fail(ErrorKind::not_possible, "no time left");
      if (function_count_ >= kMostFunctions)
        return fail(ErrorKind::not_possible, "too many functions");
      Function function{name.start, name.size, nullptr, Tier::unknown, {}};
      if (name.source == PeNameSource::ready_to_run) {
        MapName parsed = parse_map_name(row_of(Runtime::dotnet), name.raw);
        function.tier = parsed.tier == Tier::unknown ? Tier::prejit : parsed.tier;
        function.not_probeable = std::move(parsed.not_probeable);
        function.name = std::make_shared<const MethodName>(std::move(parsed.name));
      } else {
        function.name = native_name(name);
        if (name.part) function.not_probeable = "a part of a function, apart from its entry";
      }
      if (wanted_ && !wanted_(*function.name)) return {};
      ++function_count_;
      functions.push_back(std::move(function));
      return {};
    });
    if (!read) {
      diagnostics_.note("image of which not all functions are known",
                        image.name + ": " + to_string(read.error()));
    }
    if (!(*opened)->why_not().empty()) {
      diagnostics_.note("image without names", image.name + ": " + (*opened)->why_not());
    }
  }
  return functions;
}

void PeSource::only(const NameFilter& wanted) {
  wanted_ = wanted;
  const auto unwanted = [&](const Function& each) { return !wanted_(*each.name); };
  for (auto& [id, known] : functions_) {
    function_count_ -= std::erase_if(known, unwanted);
    known.shrink_to_fit();
  }
  std::erase_if(bodies_, [&](const CodeBody& body) { return !wanted_(*body.name); });
  bodies_.shrink_to_fit();
}

void PeSource::add_bodies(const PeInstance& instance, std::vector<CodeBody>& bodies) {
  const MappedPe& image = *instance.image;
  for (const Function& function : functions_of(image)) {
    const auto place = image.place_of(function.start, instance.pieces);
    if (!place) continue;
    CodeBody body;
    body.address = body.entry = place->address;
    body.size = function.size;
    body.name = function.name;
    body.tier = function.tier;
    body.source = SourceKind::mapped_image;
    body.not_probeable = function.not_probeable;
    if (place->file_offset) {
      body.file = image.file;
      body.file_offset = *place->file_offset;
    }
    bodies.push_back(std::move(body));
  }
}

Result<Snapshot> PeSource::read() {
  JITSCOPE_TRY(process_.check_same());
  JITSCOPE_ASSIGN(const std::vector<Mapping> maps, process_.maps());
  const WorkLimit limit{kLongestDecoding};
  std::vector<PeInstance> now = mappings_.look(maps);
  if (now != last_) {
    std::vector<CodeBody> bodies;
    for (const PeInstance& instance : now) add_bodies(instance, bodies);
    std::ranges::stable_sort(bodies, {}, &CodeBody::address);
    bodies_ = std::move(bodies);
    last_ = std::move(now);
  }
  return Snapshot{bodies_, 0};
}

bool PeSource::holds(uint64_t address) const {
  return std::ranges::any_of(last_, [&](const PeInstance& instance) {
    return std::ranges::any_of(instance.pieces, [&](const PePiece& piece) {
      return address >= piece.start && address < piece.end;
    });
  });
}

std::string PeSource::describe() const {
  return plural(last_.size(), "mapped image");
}

std::string PeSource::caveat() const {
  if (runtime_ != Runtime::dotnet) return {};
  const bool tiers = process_.environment("DOTNET_TieredCompilation") != "0" &&
                     process_.environment("COMPlus_TieredCompilation") != "0";
  std::string out = jit_;
  if (tiers) {
    out += out.empty() ? "" : "; ";
    out +=
        "methods that are called often are compiled anew (tiers), and their code in the image is "
        "not called any more";
  }
  return out;
}

}  // namespace jitscope
