// See offline_images.h.
#include "naming/offline_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/mapped_file.h"
#include "base/open_file.h"
#include "base/plural.h"
#include "naming/jit_name.h"
#include "naming/offline_map_file.h"

namespace jitscope {
namespace {

MappedImageIdentity identity_of_file(const MappedFileInfo& file, const std::string& root) {
  MappedImageIdentity identity;
  if (!file.build_id.empty()) identity.build_id = build_id_text(file.build_id);
  if (const auto opened = open_regular_file(file.path, root)) {
    identity.size = static_cast<uint64_t>(opened->status.st_size);
  }
  return identity;
}

// Where the first byte of a file that is no PE image is, or would be, mapped. Mappings whose
// addresses are as far from their file offsets belong together. Where there are several such groups
// only those that begin with the file's first byte, and copies of the same part of it, are certain
// to be images of their own: others may be pieces of one, put where its loader liked.
std::optional<uint64_t> first_byte(const ProcessLife& life, const MappedRange& range) {
  struct Group {
    uint64_t low = UINT64_MAX;  // in the file
    uint64_t high = 0;
    bool operator==(const Group&) const = default;
  };
  std::map<uint64_t, Group> groups;  // by where the first byte would be
  life.space.for_each([&](const MappedRange& each) {
    if (each.file != range.file || each.memory) return;
    Group& group = groups[each.start - each.page_offset];
    group.low = std::min(group.low, each.page_offset);
    group.high = std::max(group.high, each.page_offset + (each.end - each.start));
  });
  const uint64_t base = range.start - range.page_offset;
  const Group& own = groups[base];
  const auto is_copy = [&](const auto& each) { return each.second == own; };
  if (own.low != 0 && !std::ranges::all_of(groups, is_copy)) return std::nullopt;
  return base;
}

}  // namespace

struct OfflineImages::Entry {
  OfflineMapFile file;
  bool tell_unused = true;
  struct Fit {
    MapFit fit;
    std::string path;  // of the image
  };
  // By the image, or the number of the file.
  std::map<std::pair<const PeFile*, uint32_t>, Fit> fits;
  uint64_t asked = 0;  // addresses in images that it fits
  uint64_t named = 0;
  NoName why = NoName::none;  // of the last address that it could not be asked for
};

OfflineImages::OfflineImages(MappedFiles& files, PeImages& images, NameTables& tables,
                             std::string root)
    : files_(files), images_(images), tables_(tables), root_(std::move(root)) {}
OfflineImages::~OfflineImages() = default;

Status OfflineImages::add(const std::string& option, bool tell_unused) {
  auto entry = std::make_unique<Entry>();
  JITSCOPE_ASSIGN(entry->file, open_offline_map(option));
  entry->tell_unused = tell_unused;
  entries_.push_back(std::move(entry));
  return {};
}

Status OfflineImages::add_loads(uint32_t pid, const std::string& path) {
  constexpr size_t most = 16U << 20U;
  if (auto regular = open_regular_file(path); !regular) return fail(std::move(regular.error()));
  JITSCOPE_ASSIGN(const std::string text, read_text_file(path, most));
  loads_[pid] = parse_image_loads(text);
  return {};
}

const ImageLoad* OfflineImages::load_of(const Question& question) const {
  const auto process = loads_.find(question.life.pid);
  if (process == loads_.end()) return nullptr;
  // The last one: a file may be loaded again, elsewhere.
  const auto found = std::ranges::find(process->second.rbegin(), process->second.rend(),
                                       question.file.path, &ImageLoad::path);
  return found == process->second.rend() ? nullptr : &*found;
}

std::optional<uint64_t> OfflineImages::base_of(const Question& question) {
  const MappedRange& range = question.range;
  if (range.memory) return range.start;
  Base& known = bases_[{question.life.number, range.file, range.start - range.page_offset}];
  if (const uint32_t growth = question.life.space.growth(); known.growth != growth) {
    known = {growth, first_byte(question.life, range)};
  }
  return known.base;
}

bool OfflineImages::names(const Entry& entry, const PePlace& place) const {
  const MappedFileInfo& file = files_.info(place.file);
  const OfflineMapOption& option = entry.file.option;
  if (!place.in_bundle) return option.names(file.path);
  return place.image != nullptr && option.names_part(file.path, place.image->name());
}

std::optional<uint64_t> OfflineImages::key_in_image(Entry& entry, Question& question,
                                                    const PePlace& place) {
  if (place.image == nullptr) {
    entry.why = question.why = place.why;
    return std::nullopt;
  }
  const auto [it, fresh] = entry.fits.try_emplace({place.image, place.file});
  Entry::Fit& known = it->second;
  if (fresh) {
    const MappedFileInfo& file = files_.info(place.file);
    known.path = file.shown;
    if (place.in_bundle) known.path += "!" + place.image->name();
    std::optional<std::string> build_id;
    if (!place.in_bundle && !file.build_id.empty()) build_id = build_id_text(file.build_id);
    if (files_.budget().spent()) {
      known.fit = {NoName::no_time_left, std::string(to_string(NoName::no_time_left)),
                   OfflineMapBase::file};
    } else {
      const WorkBudget::Piece piece(files_.budget());
      known.fit = fit_to_image(*entry.file.map, *place.image, std::move(build_id));
    }
  }
  if (known.fit.why != NoName::none) {
    question.why = known.fit.why;
    return std::nullopt;
  }
  ++entry.asked;
  switch (known.fit.base) {
    case OfflineMapBase::file:
      return place.file_offset;
    case OfflineMapBase::rva:
      return place.rva;
    case OfflineMapBase::absolute:
      break;
  }
  return question.lookup;
}

std::optional<uint64_t> OfflineImages::key_in_file(Entry& entry, Question& question) {
  const MappedRange& range = question.range;
  // Of a file that cannot be read nobody knows that it is no PE image.
  const bool read =
      question.in_memory() || files_.open(range.file).format != FileFormat::unreadable;
  const ImageLoad* const load = read ? nullptr : load_of(question);
  const auto [it, fresh] = entry.fits.try_emplace({nullptr, range.file});
  Entry::Fit& known = it->second;
  if (fresh) {
    MappedImageIdentity identity = identity_of_file(question.file, root_);
    if (load != nullptr) identity.guids.push_back(load->guid);
    known.fit = fit_to_file(*entry.file.map, identity);
    if (load != nullptr && known.fit.why == NoName::none && !entry.file.map->base_is_declared()) {
      known.fit = {NoName::map_base_not_known,
                   "neither option nor map says its base, and the image cannot be read",
                   OfflineMapBase::file};
    }
    known.path = question.file.shown;
  }
  if (known.fit.why != NoName::none) {
    question.why = known.fit.why;
    return std::nullopt;
  }
  ImageMapping mapping{range.start, range.page_offset, 0};
  if (known.fit.base == OfflineMapBase::rva) {
    auto base = read ? base_of(question) : std::nullopt;
    if (load != nullptr && load->base != 0) base = load->base;
    if (!base) {
      entry.why = question.why = NoName::image_base_not_known;
      return std::nullopt;
    }
    mapping.image_base = *base;
  }
  ++entry.asked;
  return entry.file.map->key(mapping, question.lookup);
}

std::optional<Resolution> OfflineImages::answer(Question& question) {
  if (entries_.empty() || question.special()) return std::nullopt;
  const auto place = images_.at(question);
  const bool plain = (question.in_memory() || !files_.is_elf(question.range.file)) &&
                     (!place || question.in_memory());
  for (const auto& entry : entries_) {
    const bool in_image = place && names(*entry, *place);
    if (!in_image && !(plain && entry->file.option.names(question.file.path))) continue;
    const auto key =
        in_image ? key_in_image(*entry, question, *place) : key_in_file(*entry, question);
    if (!key) continue;
    const PerfMapIndex::Answer found = entry->file.map->at(*key);
    if (found.entry) {
      ++entry->named;
      return name(question, in_image ? &*place : nullptr, *key, found);
    }
    question.why = NoName::no_line_of_file;
  }
  return std::nullopt;
}

Resolution OfflineImages::name(const Question& question, const PePlace* place, uint64_t key,
                               const PerfMapIndex::Answer& found) {
  const bool dotnet = place != nullptr && place->image->ready_to_run() != nullptr;
  const Runtime runtime = dotnet ? Runtime::dotnet : question.life.runtime;
  const AddressQuery& query = question.query;
  JitName name = jit_name(runtime, found.entry->name, false);
  Frame frame;
  frame.method = std::move(name.method);
  frame.raw = std::move(name.raw);
  frame.tier = name.tier;
  frame.kind = name.kind;
  frame.dso = question.file.base;
  frame.dso_path = question.file.path;
  std::string dso = question.file.path;
  if (place != nullptr) {
    dso = files_.info(place->file).shown;
    frame.dso = place->image->name();
    frame.dso_path = place->in_bundle ? dso + "!" + place->image->name() : dso;
  }
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
  const bool memory = place != nullptr && question.range.memory;
  location.shown_ip = memory ? query.ip : question.range.file_offset(query.ip);
  location.symbol_offset = key + (query.ip - question.lookup) - found.entry->address;
  location.frame = tables_.frames().number(std::move(frame));
  location.dso = tables_.dso_number(dso);
  const uint64_t start = query.ip - location.symbol_offset;
  location.jit =
      tables_.jit_number(this, start, {nullptr, kNoBody, start, found.entry->size, location.frame});
  return out;
}

// Why a map that nothing refused named nothing.
std::string OfflineImages::unused(const Entry& entry) const {
  const OfflineMapOption& option = entry.file.option;
  const PerfMapIndex& lines = entry.file.map->index();
  if (lines.lines() == 0) return "it is empty";
  if (lines.entries() == 0) {
    return fmt::format("none of its {} can be read as `START SIZE name`",
                       plural(lines.lines(), "line"));
  }
  if (entry.asked != 0) {
    return fmt::format(
        "none of its {} holds any of the addresses of {} here: see that it is of this "
        "build, and its base (now {})",
        plural(lines.entries(), "line"), option.image,
        to_string(entry.fits.begin()->second.fit.base));
  }
  if (entry.why != NoName::none) return std::string(to_string(entry.why));
  for (uint32_t file = 0; file < files_.size(); ++file) {
    if (!option.names(files_.info(file).path)) continue;
    return files_.is_elf(file) ? option.image + " is an ELF file, whose own symbols name it"
                               : "no sample here lies in " + option.image;
  }
  return fmt::format(
      "no sample here lies in an image {}, and no process mapped a file of that name",
      option.image);
}

std::vector<std::string> OfflineImages::notes() const {
  constexpr size_t most = 3;  // images of the same name
  std::vector<std::string> out;
  for (const auto& entry : entries_) {
    size_t refused = 0;
    for (const auto& [image, known] : entry->fits) {
      if (known.fit.why == NoName::none) continue;
      if (++refused > most) continue;
      out.push_back(fmt::format("map {}: not used for {}: {}", entry->file.option.file, known.path,
                                known.fit.text));
    }
    if (refused > most) {
      out.push_back(fmt::format("map {}: not used for {} more", entry->file.option.file,
                                plural(refused - most, "image")));
    }
    if (refused != 0 || entry->named != 0 || !entry->tell_unused) continue;
    out.push_back(fmt::format("map {}: not used: {}", entry->file.option.file, unused(*entry)));
  }
  return out;
}

}  // namespace jitscope
