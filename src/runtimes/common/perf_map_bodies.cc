// Perf map lines to code bodies; see perf_map_bodies.h.
#include "runtimes/common/perf_map_bodies.h"

#include <fmt/format.h>

#include <utility>

namespace jitscope {
namespace {

enum class Place : uint8_t { outside, data, code };

// The example is of the first one: a map may have millions.
void note(Diagnostics& diagnostics, std::string_view kind, uint64_t line, uint64_t address,
          std::string_view name) {
  if (diagnostics.count(kind) != 0) {
    diagnostics.note(kind);
  } else {
    diagnostics.note(kind, fmt::format("line {}: {:#x} {}", line, address, name));
  }
}

// Walks the sorted mappings along with sorted bodies.
class Placer {
 public:
  explicit Placer(const std::vector<Mapping>& maps) : maps_(maps) {}

  // Where [start, end) lies: adjacent mappings count as one, the least executable byte decides.
  Place place(uint64_t start, uint64_t end) {
    while (at_ < maps_.size() && maps_[at_].end <= start) ++at_;
    Place found = Place::code;
    uint64_t reached = start;
    for (size_t i = at_; i < maps_.size() && reached < end; ++i) {
      if (!maps_[i].contains(reached)) break;
      if (!maps_[i].executable) found = Place::data;
      reached = maps_[i].end;
    }
    return reached < end ? Place::outside : found;
  }

 private:
  const std::vector<Mapping>& maps_;
  size_t at_ = 0;
};

}  // namespace

void PerfMapBodies::clear() {
  bodies_.clear();
  names_.clear();
}

void PerfMapBodies::add(const PerfMapLine& line, Diagnostics& diagnostics) {
  if (line.size == 0) {
    note(diagnostics, "perf map line of size 0", line.number, line.address, line.name);
    return;
  }
  const uint64_t end = line.address + line.size;
  auto first = bodies_.lower_bound(line.address);
  if (first != bodies_.begin()) {
    const auto before = std::prev(first);
    if (before->first + before->second.body.size > line.address) first = before;
  }
  auto last = first;
  while (last != bodies_.end() && last->first < end) ++last;
  bodies_.erase(first, last);
  if (bodies_.size() >= kMostBodies) {
    note(diagnostics, "perf map line beyond the largest number of code bodies", line.number,
         line.address, line.name);
    return;
  }

  MapName parsed = parse_map_name(runtime_, line.name);
  std::shared_ptr<const MethodName> name;
  if (const auto known = names_.find(line.name); known != names_.end()) {
    name = known->second;
  } else {
    name = std::make_shared<const MethodName>(std::move(parsed.name));
    names_.emplace(name->raw, name);
  }
  if (names_.size() > 2 * bodies_.size() + 1024) {
    std::erase_if(names_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  CodeBody body;
  body.address = line.address;
  body.size = line.size;
  body.name = std::move(name);
  body.tier = parsed.part ? Tier::stub : parsed.tier;  // not one more body of the method
  body.osr = parsed.osr;
  body.source = kind_;
  body.version = line.number;
  body.convention = parsed.convention;
  body.not_probeable = std::move(parsed.not_probeable);
  // HotSpot's bodies, for one, begin with the inline cache check, which not every call passes.
  const bool entered_at_start =
      runtime_.map_tells_entries && body.tier != Tier::bytecode && !body.osr;
  body.entry = entered_at_start ? line.address : 0;
  bodies_.emplace(line.address, Kept{std::move(body), false});
}

std::vector<CodeBody> PerfMapBodies::alive(const std::vector<Mapping>& maps,
                                           Diagnostics& diagnostics) {
  std::vector<CodeBody> out;
  out.reserve(bodies_.size());
  Placer placer(maps);
  for (auto& [start, kept] : bodies_) {
    const Place place = placer.place(start, start + kept.body.size);
    if (place == Place::code || (place == Place::data && kept.body.tier == Tier::bytecode)) {
      out.push_back(kept.body);
      if (place == Place::code && kept.body.tier == Tier::bytecode) {
        // node --interpreted-frames-native-stack: a copy of the interpreter's entry a function.
        out.back().not_probeable = "interpreted: the entry of the interpreter, no compiled code";
      }
      continue;
    }
    if (std::exchange(kept.counted, true)) continue;
    note(diagnostics,
         place == Place::data ? "perf map line in memory that is not executable"
                              : "perf map line outside the memory of the process",
         kept.body.version, start, kept.body.name->raw);
  }
  return out;
}

}  // namespace jitscope
