// Joins the readers of debug information; see body_details.h.
#include "runtimes/hotspot/body_details.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/work_limit.h"
#include "runtimes/hotspot/batch.h"

namespace jitscope::hotspot {
namespace {

// Of one group's debug information in memory at once, and of one call's in all.
constexpr uint64_t kGroupBytes = 32U << 20U;
constexpr uint64_t kMaxCallBytes = 2ULL << 30U;

constexpr std::string_view kTornDetails = "nmethod changed while its lines and inlining were read";
constexpr std::string_view kNoScopes = "lines and inlining of an nmethod not readable";
constexpr std::string_view kNoLines = "line number table of a method not readable";
constexpr std::string_view kTooMuch = "lines and inlining left out: more than can be read at once";

}  // namespace

struct BodyDetails::Fresh {
  const PlacedNmethod* nmethod = nullptr;
  size_t answer = 0;  // its place in the answers
  std::optional<ScopeAreas> areas;
  Unsigned5 form = Unsigned5::plain;
  std::optional<DecodedScopes> decoded;
  bool readable = false;
  bool dense = false;
  bool unchanged = false;
};

struct BodyDetails::Reading {
  MemoryReader& memory;
  const CodeHeaps& heaps;
  const NmethodLayout& layout;
  const MethodNames& names;
  Diagnostics& diagnostics;
  std::vector<std::shared_ptr<const CodeScopes>> answers;

  void note(std::string_view kind, const PlacedNmethod& nmethod) const {
    diagnostics.note(
        kind, fmt::format("{:#x}, compile id {}", nmethod.blob.code_begin, nmethod.compile_id));
  }
};

Result<BodyDetails> BodyDetails::open(const VmStructs& structs) {
  JITSCOPE_ASSIGN(ScopeLayout layout, ScopeLayout::open(structs));
  JITSCOPE_ASSIGN(MethodSources sources, MethodSources::open(structs));
  return BodyDetails(std::move(layout), std::move(sources));
}

Unsigned5 BodyDetails::form() const {
  return decoded_[1] > decoded_[0] ? Unsigned5::no_zero : Unsigned5::plain;
}

std::vector<std::shared_ptr<const CodeScopes>> BodyDetails::read(
    MemoryReader& memory, const CodeHeaps& heaps, const NmethodLayout& layout,
    const MethodNames& names, std::span<const PlacedNmethod* const> wanted,
    Diagnostics& diagnostics) {
  Reading reading{memory, heaps, layout, names, diagnostics, {}};
  reading.answers.resize(wanted.size());
  std::vector<Fresh> fresh;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto found = kept_.find(wanted[i]->blob.blob);
    if (found != kept_.end() && found->second.is(*wanted[i])) {
      reading.answers[i] = found->second.scopes;
    } else {
      Fresh entry;
      entry.nmethod = wanted[i];
      entry.answer = i;
      fresh.push_back(std::move(entry));
    }
  }
  read_headers(reading, fresh);
  uint64_t total = 0;
  for (size_t first = 0; first < fresh.size() && !WorkLimit::over();) {
    uint64_t bytes = 0;
    size_t last = first;
    for (; last < fresh.size(); ++last) {
      const uint64_t more = fresh[last].areas ? fresh[last].areas->bytes() : 0;
      if (last > first && bytes + more > kGroupBytes) break;
      bytes += more;
    }
    total += bytes;
    if (total > kMaxCallBytes) {
      diagnostics.note(kTooMuch, {}, fresh.size() - first);
      break;
    }
    read_group(reading, std::span(fresh).subspan(first, last - first));
    first = last;
    if (first < fresh.size() && WorkLimit::over()) {
      diagnostics.note(kTooMuch, {}, fresh.size() - first);
    }
  }
  return std::move(reading.answers);
}

void BodyDetails::keep_only(std::span<const PlacedNmethod> alive) {
  // What is stale is never given out: it only takes room, and not much.
  if (kept_.size() <= alive.size()) return;
  std::erase_if(kept_, [&](const auto& entry) {
    const auto found = std::ranges::lower_bound(
        alive, entry.first, {}, [](const PlacedNmethod& nmethod) { return nmethod.blob.blob; });
    return found == alive.end() || found->blob.blob != entry.first || !entry.second.is(*found);
  });
}

// Where the debug information lies, of those that still are what the walk found.
void BodyDetails::read_headers(Reading& reading, std::vector<Fresh>& fresh) const {
  check_unchanged(reading, fresh);
  std::erase_if(fresh, [&](const Fresh& entry) {
    if (!entry.unchanged) {
      reading.note(kTornDetails, *entry.nmethod);
    } else if (!entry.areas) {
      reading.note(kNoScopes, *entry.nmethod);
    }
    return !entry.unchanged || !entry.areas;
  });
}

// Reads headers anew: sets `unchanged`, and `areas` where there are none yet.
void BodyDetails::check_unchanged(Reading& reading, std::span<Fresh> group) const {
  const uint32_t block_bytes = reading.heaps.block_header_bytes();
  const uint32_t header_bytes = std::max(reading.layout.header_bytes(), layout_.header_bytes());
  std::vector<ByteRange> headers;
  headers.reserve(group.size());
  for (Fresh& entry : group) {
    entry.unchanged = false;
    headers.push_back({entry.nmethod->block, block_bytes + header_bytes});
  }
  read_ranges(reading.memory, headers, [&](size_t i, std::span<const std::byte> bytes) {
    Fresh& entry = group[i];
    const PlacedNmethod& placed = *entry.nmethod;
    const auto header = bytes.subspan(block_bytes);
    const auto now = reading.layout.decode_nmethod(placed.blob, header);
    if (!reading.heaps.used(bytes) || !now || now->state == NmethodState::dead ||
        now->method != placed.method || now->compile_id != placed.compile_id ||
        now->entry_bci != placed.entry_bci) {
      return;
    }
    const auto areas = layout_.areas(placed.blob, header);
    if (!entry.areas) {
      entry.areas = areas;
      entry.unchanged = true;
    } else {
      entry.unchanged = areas == entry.areas;
    }
  });
}

void BodyDetails::read_group(Reading& reading, std::span<Fresh> group) {
  decode_group(reading, group);
  count_oop_maps(reading, group);
  finish_group(reading, group);
}

void BodyDetails::decode_group(Reading& reading, std::span<Fresh> group) {
  uint64_t total = 0;
  for (const Fresh& entry : group) total += entry.areas->bytes();
  std::vector<std::byte> buffer(total);
  std::vector<MemoryReader::Range> reads;
  std::span<std::byte> rest(buffer);
  for (const Fresh& entry : group) {
    for (const ByteRange& area :
         {entry.areas->pc_descs, entry.areas->scopes, entry.areas->metadata}) {
      reads.push_back({area.address, rest.first(area.length), area.length == 0});
      rest = rest.subspan(area.length);
    }
  }
  // Empty areas may lie anywhere; they are read already.
  std::vector<MemoryReader::Range> wanted;
  std::ranges::copy_if(reads, std::back_inserter(wanted),
                       [](const auto& read) { return !read.ok; });
  reading.memory.read_many(wanted);
  auto answer = wanted.begin();
  for (MemoryReader::Range& read : reads) {
    if (!read.ok) read.ok = (answer++)->ok;
  }

  for (size_t i = 0; i < group.size(); ++i) {
    Fresh& entry = group[i];
    const std::span area(reads.begin() + static_cast<ptrdiff_t>(3 * i), 3);
    entry.readable = area[0].ok && area[1].ok && area[2].ok;
    if (!entry.readable) continue;
    const ScopeBytes bytes{
        area[0].out, area[1].out, area[2].out, entry.nmethod->method,
        static_cast<uint32_t>(entry.nmethod->blob.code_end - entry.nmethod->blob.code_begin)};
    const Unsigned5 likely = form();
    const Unsigned5 other = likely == Unsigned5::plain ? Unsigned5::no_zero : Unsigned5::plain;
    for (const Unsigned5 tried : {likely, other}) {
      entry.decoded = decode_scopes(layout_.pc_desc(), bytes, tried);
      if (!entry.decoded) continue;
      entry.form = tried;
      // One without scopes passes in any form and says nothing.
      if (!entry.decoded->scopes.empty()) ++decoded_[static_cast<size_t>(tried)];
      break;
    }
  }
}

void BodyDetails::count_oop_maps(Reading& reading, std::span<Fresh> group) const {
  const auto field = layout_.oop_map_count();
  if (!field) return;
  StructBatch sets(field->end());
  for (const Fresh& entry : group) sets.add(entry.areas->oop_maps);
  sets.read(reading.memory);
  for (Fresh& entry : group) {
    StructView set(sets.get(entry.areas->oop_maps));
    const int64_t count = set.get_signed(*field);
    entry.dense = set.ok() && count >= 0 && entry.decoded &&
                  entry.decoded->pc_descs > static_cast<uint64_t>(count);
  }
}

void BodyDetails::finish_group(Reading& reading, std::span<Fresh> group) {
  const Unsigned5 form = this->form();
  std::unordered_map<uint64_t, size_t> index;
  std::vector<uint64_t> methods;
  for (Fresh& entry : group) {
    // What passed in the form that this JVM does not use passed by chance.
    if (entry.decoded && !entry.decoded->scopes.empty() && entry.form != form) {
      entry.decoded.reset();
    }
    if (!entry.decoded) continue;
    for (const DecodedScopes::Scope& scope : entry.decoded->scopes) {
      if (index.try_emplace(scope.method, methods.size()).second) methods.push_back(scope.method);
    }
  }
  const auto infos = reading.names.read(reading.memory, methods);
  std::vector<const MethodInfo*> pointers(methods.size());
  std::vector<std::string> displays(methods.size());
  for (size_t i = 0; i < methods.size(); ++i) {
    if (!infos[i]) continue;
    pointers[i] = &*infos[i];
    displays[i] = infos[i]->name->display();
    std::erase(displays[i], '\0');
  }
  uint64_t no_lines = 0;
  const auto sources = sources_.read(reading.memory, pointers, form, no_lines);
  if (no_lines != 0) reading.diagnostics.note(kNoLines, {}, no_lines);

  check_unchanged(reading, group);
  for (const Fresh& entry : group) {
    const PlacedNmethod& nmethod = *entry.nmethod;
    if (!entry.unchanged) {
      reading.note(kTornDetails, nmethod);
      continue;
    }
    const bool named =
        entry.decoded && std::ranges::all_of(entry.decoded->scopes, [&](const auto& scope) {
          return pointers[index.at(scope.method)] != nullptr;
        });
    if (!named) reading.note(kNoScopes, nmethod);
    std::shared_ptr<CodeScopes> scopes;
    if (named && !entry.decoded->ranges.empty()) {
      scopes = std::make_shared<CodeScopes>();
      std::unordered_map<uint64_t, uint32_t> own_index;
      const auto method_index = [&](uint64_t method) {
        const auto [place, added] =
            own_index.try_emplace(method, static_cast<uint32_t>(scopes->methods.size()));
        if (added) {
          const size_t at = index.at(method);
          scopes->methods.push_back({displays[at], sources[at].file});
        }
        return place->second;
      };
      scopes->scopes.reserve(entry.decoded->scopes.size());
      for (const DecodedScopes::Scope& scope : entry.decoded->scopes) {
        const uint32_t method = method_index(scope.method);
        // Entry and synchronization (-1) are on the line of the first bytecode, as the JVM has it.
        const int32_t at = scope.bci == -1 ? 0 : scope.bci;
        scopes->scopes.push_back({scope.parent, method, std::max(scope.bci, -1),
                                  sources[index.at(scope.method)].lines.line_of(at)});
      }
      scopes->ranges = entry.decoded->ranges;
      // The first begins with the prologue.
      for (CodeScopes::Range& range : scopes->ranges) {
        range.exact = entry.dense && range.begin != 0;
      }
    }
    reading.answers[entry.answer] = scopes;
    // What is damaged stays so: it is not read again, and not counted again.
    kept_.insert_or_assign(nmethod.blob.blob, Kept{nmethod.method, nmethod.compile_id,
                                                   nmethod.entry_bci, std::move(scopes)});
  }
}

}  // namespace jitscope::hotspot
