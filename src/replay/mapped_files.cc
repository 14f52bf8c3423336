#include "replay/mapped_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "symbolize/kernel_symbols.h"

namespace jitscope {
namespace {

// perf's own special mappings and what others print for them.
std::string shown_path(std::string_view path, MappingKind kind) {
  switch (kind) {
    case MappingKind::vdso:
      return "[vdso]";
    case MappingKind::kernel:
      return path.starts_with("[guest") ? "[guest.kernel.kallsyms]" : "[kernel.kallsyms]";
    default:
      return std::string(path);
  }
}

}  // namespace

// Whole recordings are named within a second or two, files from a slow disk among them.
MappedFiles::MappedFiles(const NamingOptions& options)
    : options_(options), budget_(std::chrono::minutes(3), std::chrono::seconds(20)) {}

void MappedFiles::add_build_id(std::string_view path, std::span<const std::byte> id) {
  // Ids are padded with zeros to 20 bytes in old records: none of ours ends in four of them.
  build_ids_[std::string(path)].assign(id.begin(), id.end());
}

std::map<std::string, std::vector<std::byte>> MappedFiles::build_ids() const {
  std::map<std::string, std::vector<std::byte>> ids;
  for (const auto& entry : files_) {
    const auto& id = entry->info.build_id;
    if (!id.empty()) ids[entry->info.shown].assign(id.begin(), id.end());
  }
  return ids;
}

uint32_t MappedFiles::number(const perfdata::Mmap& mmap) {
  Key key{std::string(mmap.path), mmap.has_inode ? mmap.inode : 0,
          std::vector<std::byte>(mmap.build_id.begin(), mmap.build_id.end())};
  const auto found = numbers_.find(key);
  if (found != numbers_.end()) {
    identify(files_[found->second]->info, mmap);
    return found->second;
  }
  auto entry = std::make_unique<Entry>();
  MappedFileInfo& info = entry->info;
  info.kind = mapping_kind(mmap.path);
  info.path = without_deleted(mmap.path);
  info.deleted = info.path.size() != mmap.path.size();
  info.inode = key.inode;
  if (key.inode != 0) {
    info.identity = FileIdentity{mmap.major, mmap.minor, mmap.inode, mmap.generation};
  }
  info.build_id = key.build_id;
  if (info.build_id.empty()) {
    const auto id = build_ids_.find(info.path);
    if (id != build_ids_.end()) info.build_id = id->second;
  }
  info.shown = shown_path(mmap.path, info.kind);
  info.base = mapping_base_name(info.shown);
  const auto result = static_cast<uint32_t>(files_.size());
  files_.push_back(std::move(entry));
  numbers_.emplace(std::move(key), result);
  return result;
}

// What a further mapping of the path and inode says of the file.
void MappedFiles::identify(MappedFileInfo& info, const perfdata::Mmap& mmap) {
  if (!info.identity) return;
  FileIdentity& known = *info.identity;
  const bool other =
      known.major != mmap.major || known.minor != mmap.minor ||
      (known.generation != 0 && mmap.generation != 0 && known.generation != mmap.generation);
  if (other) {
    info.identity.reset();
  } else if (known.generation == 0) {
    known.generation = mmap.generation;
  }
}

const MappedContents& MappedFiles::open(uint32_t file) {
  Entry& entry = *files_[file];
  if (entry.opened == nullptr) open_file(entry);
  return *entry.opened;
}

bool MappedFiles::is_elf(uint32_t file) {
  Entry& entry = *files_[file];
  if (!entry.elf) {
    const bool on_disk =
        entry.info.kind == MappingKind::file || entry.info.kind == MappingKind::deleted_file;
    const FileFormat format = entry.opened != nullptr ? entry.opened->format
                              : on_disk ? probe_file(entry.info.path, options_.root).format
                                        : FileFormat::unreadable;
    // Its debug file may be there still.
    entry.elf = format == FileFormat::unreadable ? open(file).format == FileFormat::elf
                                                 : format == FileFormat::elf;
  }
  return *entry.elf;
}

void MappedFiles::open_file(Entry& entry) {
  if (budget_.spent()) {
    entry.opened = std::make_unique<MappedContents>();
    entry.opened->reason = NoName::no_time_left;
    left_out_.push_back(fmt::format("{}: {}", entry.info.path, to_string(NoName::no_time_left)));
    return;
  }
  const WorkBudget::Piece piece(budget_);
  read_file(entry);
  const ElfImage* image = entry.opened->image.get();
  if (image == nullptr || image->left_out().empty()) return;
  entry.opened->detail = image->left_out();
  left_out_.push_back(fmt::format("{}: {}", entry.info.path, image->left_out()));
}

void MappedFiles::read_file(Entry& entry) {
  if (elf_options_.root.empty()) {
    elf_options_.root = options_.root;
    elf_options_.debug_directories = options_.debug_directories;
    elf_options_.debuginfod = options_.debuginfod;
    elf_options_.demangle = options_.demangle;
  }
  entry.opened = std::make_unique<MappedContents>();
  MappedContents& opened = *entry.opened;
  const MappedFileInfo& info = entry.info;
  if (info.kind == MappingKind::vdso) {
    auto image = ElfImage::from_memory(vdso_image(), "[vdso]", elf_options_);
    if (!image) {
      opened.reason = NoName::no_vdso;
      return;
    }
    opened.format = FileFormat::elf;
    opened.image = std::move(*image);
    return;
  }
  if (info.kind != MappingKind::file && info.kind != MappingKind::deleted_file) {
    opened.format = FileFormat::other;
    return;
  }
  const FileProbe probe = probe_file(info.path, options_.root);
  opened.format = probe.format;
  if (probe.format != FileFormat::elf && probe.format != FileFormat::unreadable) return;
  auto image = ElfImage::open(info.path, info.build_id, elf_options_);
  if (image) {
    opened.format = FileFormat::elf;
    opened.image = std::move(*image);
    return;
  }
  opened.detail = to_string(image.error());
  if (probe.format == FileFormat::unreadable) {
    opened.reason = info.deleted ? NoName::file_deleted : NoName::file_unreadable;
    opened.detail = info.path + ": " + probe.why;
  } else if (!info.build_id.empty()) {
    opened.reason = NoName::file_changed;
  } else {
    opened.reason = NoName::elf_damaged;
  }
}

}  // namespace jitscope
