// See map_fit.h.
#include "naming/map_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "symbolize/pe/pe_identity.h"

namespace jitscope {
namespace {

// Of the lines that begin where functions do: surely so many when the base is right, and by chance
// at most so many when it is not.
constexpr uint64_t kSure = 95;  // percent
constexpr uint64_t kChance = 5;

std::optional<std::string> name_of(PeSystem system) {
  switch (system) {
    case PeSystem::windows:
      return "Windows";
    case PeSystem::linux:
      return "Linux";
    case PeSystem::other:
      break;
  }
  return std::nullopt;
}

std::optional<std::string> name_of(PeMachine machine) {
  switch (machine) {
    case PeMachine::x86:
      return "X86";
    case PeMachine::x86_64:
      return "X64";
    case PeMachine::arm64:
      return "ARM64";
    case PeMachine::other:
      break;
  }
  return std::nullopt;
}

MappedImageIdentity identity_of_image(PeFile& image, std::optional<std::string> build_id) {
  MappedImageIdentity out;
  PeIdentity told = PeIdentity::of(image);
  out.guids = std::move(told.guids);
  if (told.perf_map_signature) out.guids.push_back(*told.perf_map_signature);
  out.signature = std::move(told.perf_map_signature);
  // GNU ld's --build-id of a PE image is its CodeView GUID, and what perf knows it by.
  out.build_id = build_id ? std::move(build_id) : std::move(told.code_view);
  out.size = image.part().size;
  out.time_stamp = image.headers().time_stamp;
  out.system = name_of(image.headers().system);
  out.architecture = name_of(image.headers().machine);
  // Armel is an ABI of 32-bit ARM.
  if (out.architecture) out.abi = "Default";
  return out;
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string figures(const StartHits& hits) {
  return fmt::format(
      "of its {} lines {:.1f} % begin where functions do as RVAs, {:.1f} % as file offsets",
      hits.starts, percent(hits.as_rva, hits.starts), percent(hits.as_file, hits.starts));
}

MapFit refused(NoName why, std::string text) {
  return {why, std::move(text), OfflineMapBase::file};
}

}  // namespace

StartHits StartHits::of(const OfflineMap& map, PeFile& image) {
  StartHits hits;
  const std::vector<uint32_t> functions = image.function_starts();
  const auto begins = [&](uint64_t rva) {
    return rva <= UINT32_MAX && std::ranges::binary_search(functions, static_cast<uint32_t>(rva));
  };
  map.for_each_start([&](uint64_t start) {
    const auto rva = image.headers().rva_of(start);
    const bool as_rva = begins(start);
    const bool as_file = rva && begins(*rva);
    ++hits.starts;
    hits.as_rva += as_rva ? 1 : 0;
    hits.as_file += as_file ? 1 : 0;
    hits.same = hits.same && (!rva || *rva == start || (!as_rva && !as_file));
    return hits.starts < kMostStarts;
  });
  return hits;
}

MapFit fit_to_image(const OfflineMap& map, PeFile& image, std::optional<std::string> build_id) {
  const MappedImageIdentity identity = identity_of_image(image, std::move(build_id));
  if (const auto conflict = identity_conflict(map.identity(), identity)) {
    return refused(NoName::map_of_other_file, *conflict);
  }
  MapFit fit;
  fit.base = map.base();
  if (map.base_is_declared() && fit.base == OfflineMapBase::absolute) return fit;
  const StartHits hits = StartHits::of(map, image);
  if (hits.starts == 0) return fit;
  const auto sure = [&](uint64_t found) { return found * 100 >= hits.starts * kSure; };
  const auto chance = [&](uint64_t found) { return found * 100 <= hits.starts * kChance; };
  const bool rva = sure(hits.as_rva) && chance(hits.as_file);
  const bool file = sure(hits.as_file) && chance(hits.as_rva);
  // Crossgen2 writes the signature into both: of an image without one only the functions tell.
  if (map.identity().signature && !identity.signature && fit.base == OfflineMapBase::rva &&
      chance(hits.as_rva) && image.has_functions()) {
    return refused(NoName::map_of_other_file,
                   fmt::format("it has a signature, the image has none, and {}", figures(hits)));
  }
  if (map.base_is_declared()) {
    // Where functions lie close to each other a tenth and more hit by chance.
    const bool is_rva = fit.base == OfflineMapBase::rva;
    const uint64_t said = is_rva ? hits.as_rva : hits.as_file;
    if (sure(is_rva ? hits.as_file : hits.as_rva) && !sure(said)) {
      return refused(NoName::map_base_is_wrong,
                     fmt::format("its base is not {}: {}", to_string(fit.base), figures(hits)));
    }
    return fit;
  }
  if (rva || (sure(hits.as_rva) && sure(hits.as_file) && hits.same)) {
    fit.base = OfflineMapBase::rva;
  } else if (file) {
    fit.base = OfflineMapBase::file;
  } else {
    return refused(NoName::map_base_not_known,
                   fmt::format("neither option nor map says its base, and the image does not tell: "
                               "{}",
                               figures(hits)));
  }
  return fit;
}

MapFit fit_to_file(const OfflineMap& map, const MappedImageIdentity& file) {
  if (const auto conflict = identity_conflict(map.identity(), file)) {
    return refused(NoName::map_of_other_file, *conflict);
  }
  return {NoName::none, "", map.base()};
}

}  // namespace jitscope
