#include "naming/offline_images.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/open_file.h"
#include "formats/perfmap/offline_map.h"
#include "naming/jit_name.h"

namespace jitscope {
namespace {

MappedImageIdentity identity_of(const MappedFileInfo& file, const std::string& root) {
  MappedImageIdentity identity;
  if (!file.build_id.empty()) identity.build_id = build_id_text(file.build_id);
  if (const auto opened = open_regular_file(file.path, root)) {
    identity.size = static_cast<uint64_t>(opened->status.st_size);
  }
  return identity;
}

std::optional<PeSections> read_pe(const std::string& path, const std::string& root) {
  const auto file = open_regular_file(path, root);
  if (!file) return std::nullopt;
  std::vector<std::byte> head(PeSections::kHead);
  const ssize_t got = ::pread(file->fd.get(), head.data(), head.size(), 0);
  if (got <= 0) return std::nullopt;
  auto sections =
      PeSections::parse(std::span<const std::byte>(head).first(static_cast<size_t>(got)));
  if (!sections) return std::nullopt;
  return std::move(*sections);
}

// Where the file's first byte is, or would be, mapped.
uint64_t first_byte(const ProcessLife& life, const MappedRange& range) {
  uint64_t base = range.start - range.page_offset;
  bool found = false;
  life.space.for_each([&](const MappedRange& each) {
    if (found || each.file != range.file) return;
    base = each.start - each.page_offset;
    found = true;
  });
  return base;
}

}  // namespace

struct OfflineImages::Entry {
  OfflineMapOption option;
  std::unique_ptr<OfflineMap> map;
};

// What the image's addresses are relative to. A PE image is mapped section by section, each where
// its header says, and not one after the other as in the file.
uint64_t OfflineImages::image_base(const ProcessLife& life, const MappedRange& range,
                                   const MappedFileInfo& file, uint64_t lookup) {
  const auto [it, fresh] = pe_.try_emplace(file.path);
  if (fresh) it->second = read_pe(file.path, root_);
  if (it->second && !range.memory) {
    if (const auto rva = it->second->rva_of(range.file_offset(lookup))) return lookup - *rva;
  }
  return first_byte(life, range);
}

OfflineImages::OfflineImages(std::string root) : root_(std::move(root)) {}
OfflineImages::~OfflineImages() = default;

Status OfflineImages::add(const std::string& option) {
  auto entry = std::make_unique<Entry>();
  JITSCOPE_ASSIGN(entry->option, parse_offline_map_option(option));
  // IMAGE=MAP is what is asked for; MAP=IMAGE is understood where only that can be meant.
  if (probe_file(entry->option.image).format == FileFormat::other) {
    std::swap(entry->option.file, entry->option.image);
  }
  JITSCOPE_ASSIGN(auto source, open_byte_source(entry->option.file));
  Diagnostics diagnostics;
  JITSCOPE_ASSIGN(entry->map, OfflineMap::read(std::move(source), entry->option.base, diagnostics));
  entries_.push_back(std::move(entry));
  return {};
}

bool OfflineImages::resolve(Resolution& out, const ProcessLife& life, const MappedRange& range,
                            const MappedFileInfo& file, uint64_t lookup, const AddressQuery& query,
                            FrameTable& frames, NoName& reason) {
  for (const auto& entry : entries_) {
    if (!entry->option.names(file.path)) continue;
    if (identity_conflict(entry->map->identity(), identity_of(file, root_))) {
      reason = NoName::map_of_other_file;
      continue;
    }
    const ImageMapping mapping{range.start, range.page_offset,
                               image_base(life, range, file, lookup)};
    const auto key = entry->map->key(mapping, lookup);
    if (!key) continue;
    const PerfMapIndex::Answer answer = entry->map->at(*key);
    if (!answer.entry) {
      reason = NoName::no_line_of_file;
      continue;
    }
    JitName name = jit_name(life.runtime, answer.entry->name, false);
    Frame frame;
    frame.method = std::move(name.method);
    frame.raw = std::move(name.raw);
    frame.tier = name.tier;
    frame.kind = name.kind;
    frame.dso = file.base;
    frame.dso_path = file.path;
    frame.place = FramePlace::file;
    frame.source = NameSource::offline_map;
    frame.ambiguous = answer.ambiguous;
    for (const PerfMapIndex::Entry& candidate : answer.candidates) {
      if (!frame.candidates.empty()) frame.candidates += " | ";
      frame.candidates += jit_name(life.runtime, candidate.name, false).method;
    }
    out.location.shown_ip = query.ip - range.start + range.page_offset;
    out.location.symbol_offset = *key + (query.ip - lookup) - answer.entry->address;
    out.symbol_size = answer.entry->size;
    out.location.frame = frames.number(std::move(frame));
    return true;
  }
  return false;
}

}  // namespace jitscope
