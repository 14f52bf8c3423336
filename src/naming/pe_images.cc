// See pe_images.h.
#include "naming/pe_images.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <utility>

#include "base/open_file.h"
#include "base/path.h"
#include "symbolize/pe/bundle_file.h"
#include "symbolize/pe/loaded_image.h"

namespace jitscope {
namespace {

// How many mappings in front of anonymous memory are looked at for the header of its image.
constexpr size_t kMostBefore = 64;
constexpr uint64_t kFarthestHeader = uint64_t{1} << 31U;

}  // namespace

struct PeImages::Entry {
  bool opened = false;
  NoName why = NoName::none;
  std::shared_ptr<const OpenedFile> file;
  std::string base;
  std::unique_ptr<PeFile> image;  // the file is one
  // An ELF file: what it loads, and once an address lies elsewhere what is bundled in it.
  ImageHost host;
  bool searched = false;
  std::optional<BundleManifest> bundle;
  std::map<uint64_t, std::unique_ptr<PeFile>> parts;  // by offset; null: no PE image
};

PeImages::PeImages(SourceContext& context, const NamingOptions& options)
    : context_(context), options_(options) {}
PeImages::~PeImages() = default;

// The kernel tells a file's device and inode with its mapping (of an overlay's file those of the
// one below, whose device is another one: that tells nothing); a file that was written later is
// another one, too.
NoName PeImages::why_not_same(const MappedFileInfo& info, const OpenedFile& file) const {
  if (info.deleted) return NoName::file_deleted;
  if (options_.force || !options_.root.empty() || !context_.facts.of_this_machine()) {
    return NoName::none;
  }
  if (info.identity && info.identity->major == major(file.status.st_dev) &&
      info.identity->minor == minor(file.status.st_dev) &&
      info.identity->inode != file.status.st_ino) {
    return NoName::file_changed;
  }
  const auto& header = context_.facts.header();
  const auto begin =
      header.first_sample_time ? context_.facts.wall_time(*header.first_sample_time) : std::nullopt;
  constexpr int64_t second = 1'000'000'000;
  const int64_t modified = file.status.st_mtim.tv_sec * second + file.status.st_mtim.tv_nsec;
  if (begin && modified > *begin + context_.facts.wall_slack()) return NoName::file_changed;
  return NoName::none;
}

void PeImages::open(Entry& entry, const MappedFileInfo& info) {
  entry.opened = true;
  if (info.kind != MappingKind::file && info.kind != MappingKind::deleted_file) return;
  auto file = open_regular_file(info.path, options_.root);
  if (!file) return;
  auto host = image_host(file->fd.get());
  if (!host) return;
  entry.base = info.base;
  const NoName other = why_not_same(info, *file);
  entry.file = std::make_shared<const OpenedFile>(std::move(*file));
  if (!host->is_image) {
    entry.host = std::move(*host);
    return;
  }
  const auto size = static_cast<uint64_t>(entry.file->status.st_size);
  PeDebugSearch search{info.path, {}};
  search.options.root = options_.root;
  if (auto image = PeFile::open(entry.file, {0, size}, info.base, std::move(search))) {
    entry.image = std::move(*image);
    entry.why = other;
  }
}

PeImages::Entry& PeImages::entry(uint32_t file) {
  std::unique_ptr<Entry>& entry = entries_[file];
  if (entry == nullptr) entry = std::make_unique<Entry>();
  if (!entry->opened) open(*entry, context_.files.info(file));
  return *entry;
}

std::optional<PePlace> PeImages::in_file(uint32_t file, uint64_t offset) {
  Entry& known = entry(file);
  PePlace place;
  place.file = file;
  if (known.image != nullptr) {
    place.why = known.why;
    const auto rva = known.image->headers().rva_of(offset);
    if (rva) {
      place.rva = *rva;
      place.file_offset = offset;
      if (known.why == NoName::none) place.image = known.image.get();
    } else if (place.why == NoName::none) {
      place.why = NoName::no_function_of_image;
    }
    return place;
  }
  if (known.host.loads.empty() || known.host.loads_as_elf(offset)) {
    return std::nullopt;
  }
  if (!known.searched) {
    known.searched = true;
    known.bundle = read_bundle(*known.file);
  }
  const BundleEntry* part = known.bundle ? known.bundle->at(offset) : nullptr;
  if (part == nullptr) return std::nullopt;
  const auto [it, fresh] = known.parts.try_emplace(part->offset);
  if (fresh && part->compressed == 0) {
    auto image =
        PeFile::open(known.file, {part->offset, part->size}, std::string(base_name(part->path)));
    if (image) it->second = std::move(*image);
  }
  if (it->second == nullptr) return std::nullopt;
  place.in_bundle = true;
  place.why = why_not_same(context_.files.info(file), *known.file);
  const auto rva = it->second->headers().rva_of(offset - part->offset);
  if (!rva) {
    if (place.why == NoName::none) place.why = NoName::no_function_of_image;
    return place;
  }
  place.rva = *rva;
  place.file_offset = offset - part->offset;
  if (place.why == NoName::none) place.image = it->second.get();
  return place;
}

// A loader that finds no pages of the file to map (Wine, for sections that lie at other offsets in
// a page than their addresses) copies them to anonymous memory; the header is still the file's. All
// addresses of one mapping have the same one in front of them.
const PeImages::Header& PeImages::header_before(const Question& question) {
  const AddressSpace& space = question.life.space;
  const uint64_t from = question.range.start;
  if (header_.life == question.life.number && header_.growth == space.growth() &&
      header_.range == from) {
    return header_;
  }
  header_ = {question.life.number, space.growth(), from, 0, kNoFile};
  space.before(from, kMostBefore, [&](const MappedRange& range) {
    if (from - range.start > kFarthestHeader) return false;
    if (range.memory || range.page_offset != 0) return true;
    const Entry& known = entry(range.file);
    if (known.image == nullptr) return true;
    if (is_flat_view(known.image->headers(), range.end - range.start)) return true;
    header_.start = range.start;
    header_.file = range.file;
    return false;
  });
  return header_;
}

std::optional<PePlace> PeImages::in_memory(const Question& question) {
  const Header& header = header_before(question);
  if (header.file == kNoFile) return std::nullopt;
  Entry& known = entry(header.file);
  const uint64_t rva = question.lookup - header.start;
  if (rva >= known.image->headers().size_of_image) return std::nullopt;
  PePlace place;
  place.file = header.file;
  place.rva = static_cast<uint32_t>(rva);
  place.why = known.why;
  place.file_offset = known.image->headers().offset_of(rva);
  if (known.why == NoName::none) place.image = known.image.get();
  return place;
}

std::vector<PeStory> PeImages::stories() const {
  std::vector<PeStory> out;
  const auto tell = [&](const std::string& path, NoName why, PeFile* image) {
    if (image == nullptr) return;
    if (why != NoName::none) {
      out.push_back({path, std::string(to_string(why)), std::string(advice_of(why))});
    } else if (image->asked()) {
      out.push_back({path, image->describe(), image->advice()});
    }
  };
  for (const auto& [file, known] : entries_) {
    const std::string& path = context_.files.info(file).shown;
    tell(path, known->why, known->image.get());
    for (const auto& [offset, part] : known->parts) {
      if (part != nullptr) tell(path + "!" + part->name(), NoName::none, part.get());
    }
  }
  std::ranges::stable_sort(out, {}, &PeStory::path);
  return out;
}

std::optional<PePlace> PeImages::at(const Question& question) {
  if (question.special()) return std::nullopt;
  if (question.in_memory()) return in_memory(question);
  if (question.file.kind != MappingKind::file && question.file.kind != MappingKind::deleted_file) {
    return std::nullopt;
  }
  return in_file(question.range.file, question.range.file_offset(question.lookup));
}

}  // namespace jitscope
