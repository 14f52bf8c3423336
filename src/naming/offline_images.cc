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

std::optional<PeHeaders> read_pe(const std::string& path, const std::string& root) {
  const auto file = open_regular_file(path, root);
  if (!file) return std::nullopt;
  std::vector<std::byte> head(PeHeaders::kHead);
  const ssize_t got = ::pread(file->fd.get(), head.data(), head.size(), 0);
  if (got <= 0) return std::nullopt;
  auto sections =
      PeHeaders::parse(std::span<const std::byte>(head).first(static_cast<size_t>(got)));
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
uint64_t OfflineImages::image_base(const Question& question) {
  const MappedRange& range = question.range;
  const auto [it, fresh] = pe_.try_emplace(question.file.path);
  if (fresh) it->second = read_pe(question.file.path, root_);
  if (it->second && !range.memory) {
    const auto rva = it->second->rva_of(range.file_offset(question.lookup));
    if (rva) return question.lookup - *rva;
  }
  return first_byte(question.life, range);
}

OfflineImages::OfflineImages(MappedFiles& files, NameTables& tables, std::string root)
    : files_(files), tables_(tables), root_(std::move(root)) {}
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

std::optional<Resolution> OfflineImages::answer(Question& question) {
  if (entries_.empty() || question.special()) return std::nullopt;
  if (!question.in_memory() && files_.is_elf(question.range.file)) return std::nullopt;
  for (const auto& entry : entries_) {
    if (!entry->option.names(question.file.path)) continue;
    if (identity_conflict(entry->map->identity(), identity_of(question.file, root_))) {
      question.why = NoName::map_of_other_file;
      continue;
    }
    const ImageMapping mapping{question.range.start, question.range.page_offset,
                               image_base(question)};
    const auto key = entry->map->key(mapping, question.lookup);
    if (!key) continue;
    const PerfMapIndex::Answer found = entry->map->at(*key);
    if (found.entry) return name(question, *key, found);
    question.why = NoName::no_line_of_file;
  }
  return std::nullopt;
}

Resolution OfflineImages::name(const Question& question, uint64_t key,
                               const PerfMapIndex::Answer& found) {
  const Runtime runtime = question.life.runtime;
  const AddressQuery& query = question.query;
  JitName name = jit_name(runtime, found.entry->name, false);
  Frame frame;
  frame.method = std::move(name.method);
  frame.raw = std::move(name.raw);
  frame.tier = name.tier;
  frame.kind = name.kind;
  frame.dso = question.file.base;
  frame.dso_path = question.file.path;
  frame.place = FramePlace::file;
  frame.source = NameSource::offline_map;
  frame.ambiguous = found.ambiguous;
  for (const PerfMapIndex::Entry& candidate : found.candidates) {
    if (!frame.candidates.empty()) frame.candidates += " | ";
    frame.candidates += jit_name(runtime, candidate.name, false).method;
  }
  Resolution out;
  out.named = true;
  Location& location = out.location;
  location.shown_ip = query.ip - question.range.start + question.range.page_offset;
  location.symbol_offset = key + (query.ip - question.lookup) - found.entry->address;
  location.frame = tables_.frames().number(std::move(frame));
  location.dso = tables_.dso_number(question.file.path);
  const uint64_t start = query.ip - location.symbol_offset;
  location.jit =
      tables_.jit_number(this, start, {nullptr, kNoBody, start, found.entry->size, location.frame});
  return out;
}

}  // namespace jitscope
