// See pe_mappings.h.
#include "mapped_code/pe_mappings.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/path.h"
#include "base/work_limit.h"
#include "process/mapped_identity.h"
#include "symbolize/pe/bundle_file.h"
#include "symbolize/pe/read_part.h"

namespace jitscope {
namespace {

// How many mappings in front of anonymous memory are looked at for the header of its image.
constexpr size_t kMostInFront = 64;
constexpr size_t kMostFiles = 4096;
constexpr size_t kMostParts = 4096;

}  // namespace

std::optional<MappedPe::Place> MappedPe::place_of(uint32_t rva,
                                                  const std::vector<PePiece>& pieces) const {
  const auto offset = headers.offset_of(rva);
  for (const PePiece& piece : pieces) {
    const uint64_t size = piece.end - piece.start;
    if (!piece.from_file) {
      if (rva >= piece.at && rva - piece.at < size) {
        return Place{piece.start + (rva - piece.at), std::nullopt};
      }
      continue;
    }
    if (!offset || *offset >= part.size) continue;
    const uint64_t in_file = part.offset + *offset;
    if (in_file >= piece.at && in_file - piece.at < size) {
      return Place{piece.start + (in_file - piece.at), in_file};
    }
  }
  return std::nullopt;
}

std::unique_ptr<MappedPe> PeMappings::image_at(const File& file, FilePart part, std::string name) {
  std::vector<std::byte> head(std::min<uint64_t>(part.size, PeHeaders::kHead));
  head.resize(read_part(file.file->opened.fd.get(), part.offset, head));
  auto headers = PeHeaders::parse(head);
  if (!headers) return nullptr;
  auto image = std::make_unique<MappedPe>();
  image->id = next_id_++;
  image->file = file.file;
  image->part = part;
  image->name = std::move(name);
  image->headers = std::move(*headers);
  return image;
}

void PeMappings::open(File& file, const Mapping& mapping) {
  auto opened = open_regular_file(mapping.map_files_path(process_.pid()));
  if (!opened) return;
  auto host = image_host(opened->fd.get());
  if (!host) return;
  const bool image = host->is_image;
  const std::string path = process_.other_mount_namespace() || mapping.deleted
                               ? process_.path_in_root(mapping.path)
                               : mapping.path;
  file.host = std::move(*host);
  file.file = std::make_shared<const CodeFile>(CodeFile{path, std::move(*opened), !image});
  if (!image || !is_mapped(file, mapping)) return;
  const auto size = static_cast<uint64_t>(file.file->opened.status.st_size);
  file.image = image_at(file, {0, size}, std::string(base_name(mapping.path)));
  if (file.image != nullptr) file.image->path = mapping.path;
}

// Between the list of mappings and the opening another file may have been mapped there.
bool PeMappings::is_mapped(const File& file, const Mapping& mapping) {
  const auto identity = identity_of_file(file.file->opened.fd.get());
  return identity && *identity == identity_of(mapping);
}

PeMappings::File* PeMappings::file_of(const Mapping& mapping) {
  const FileKey key{mapping.dev_major, mapping.dev_minor, mapping.inode};
  const auto found = files_.find(key);
  if (found != files_.end()) return &found->second;
  if (files_.size() >= kMostFiles) return nullptr;
  File& file = files_[key];
  open(file, mapping);
  return &file;
}

// Parts may begin and end within the first and the last page of a mapping.
std::vector<const MappedPe*> PeMappings::parts_of(File& file, const Mapping& mapping) {
  std::vector<const MappedPe*> out;
  const uint64_t end = mapping.offset + mapping.size();
  if (file.host.loads.empty() || file.host.loads_as_elf(mapping.offset) ||
      file.host.loads_as_elf(end - 1)) {
    return out;
  }
  if (!file.searched) {
    file.searched = true;
    if (is_mapped(file, mapping)) file.bundle = read_bundle(file.file->opened);
  }
  if (!file.bundle) return out;
  for (const BundleEntry& entry : file.bundle->entries) {
    if (entry.offset >= end) break;
    if (entry.compressed != 0 || entry.offset + entry.size <= mapping.offset) continue;
    if (file.parts.size() >= kMostParts || WorkLimit::over()) break;
    const auto [at, fresh] = file.parts.try_emplace(entry.offset);
    if (fresh) {
      at->second = image_at(file, {entry.offset, entry.size}, std::string(base_name(entry.path)));
    }
    if (at->second != nullptr) out.push_back(at->second.get());
  }
  return out;
}

// A loader that finds no pages of the file to map (Wine, for sections that lie at other offsets in
// a page than their addresses) copies them to anonymous memory; the header is still the file's.
const MappedPe* PeMappings::behind_header(const std::vector<Mapping>& maps, size_t index,
                                          uint64_t& rva) {
  const size_t first = index - std::min(index, kMostInFront);
  for (size_t at = index; at-- > first;) {
    const Mapping& mapping = maps[at];
    if (!mapping.file_backed() || mapping.offset != 0) continue;
    const File* const file = file_of(mapping);
    const MappedPe* const image = file != nullptr ? file->image.get() : nullptr;
    if (image == nullptr || is_flat_view(image->headers, mapping.size())) continue;
    rva = maps[index].start - mapping.start;
    return rva < image->headers.size_of_image ? image : nullptr;
  }
  return nullptr;
}

std::vector<PeInstance> PeMappings::look(const std::vector<Mapping>& maps) {
  std::vector<PeInstance> found;
  std::unordered_map<const MappedPe*, size_t> numbers;
  const auto add = [&](const MappedPe* image, const PePiece& piece) {
    const auto [at, fresh] = numbers.emplace(image, found.size());
    if (fresh) found.push_back({image, {}});
    found[at->second].pieces.push_back(piece);
  };
  for (size_t i = 0; i < maps.size() && !WorkLimit::over(); ++i) {
    const Mapping& mapping = maps[i];
    // What is shared may be written by others: no code of this image for certain.
    if (!mapping.executable || mapping.shared) continue;
    File* const file = mapping.file_backed() ? file_of(mapping) : nullptr;
    if (file != nullptr && file->file != nullptr) {
      const PePiece piece{mapping.start, mapping.end, mapping.offset, true};
      if (file->image != nullptr) add(file->image.get(), piece);
      for (const MappedPe* part : parts_of(*file, mapping)) add(part, piece);
    } else if (mapping.path.empty() || file != nullptr) {
      // Memory, or a file of code that is no image (a probe's page).
      uint64_t rva = 0;
      const MappedPe* const image = behind_header(maps, i, rva);
      if (image != nullptr) add(image, {mapping.start, mapping.end, rva, false});
    }
  }
  return found;
}

}  // namespace jitscope
