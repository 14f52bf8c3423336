// MappedFiles: every file that a recording says was mapped, numbered once; what it is, and its ELF
// symbols, found out when first asked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_limit.h"
#include "code/no_name.h"
#include "formats/perfdata/records.h"
#include "replay/naming_options.h"
#include "symbolize/elf_image.h"
#include "symbolize/mapping_kind.h"

namespace jitscope {

// Which file it is in the file system, as the kernel tells with a mapping.
struct FileIdentity {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint64_t inode = 0;
  uint64_t generation = 0;  // 0: not recorded; most file systems count an inode's uses
};

struct MappedFileInfo {
  std::string path;  // as recorded, without " (deleted)"
  MappingKind kind = MappingKind::file;
  bool deleted = false;
  uint64_t inode = 0;  // 0: not recorded
  // Nothing: not recorded, or mappings of one path and inode tell of different files.
  std::optional<FileIdentity> identity;
  BuildIdBytes build_id;
  std::string shown;  // for output: "/usr/lib/libc.so.6", "[vdso]"
  std::string base;   // its last part
  // As runtimes call a jitdump.
  [[nodiscard]] bool named_as_dump() const { return base.ends_with(".dump"); }
};

// What a mapped file turned out to be.
struct MappedContents {
  FileFormat format = FileFormat::unreadable;
  std::unique_ptr<ElfImage> image;  // when it is the ELF file that ran
  NoName reason = NoName::none;     // why there is no image
  std::string detail;               // with names and numbers, for doctor
};

class MappedFiles {
 public:
  explicit MappedFiles(const NamingOptions& options);

  uint32_t number(const perfdata::Mmap& mmap);
  // The id that the recording lists for a path (header, BUILD_ID records); later files of that path
  // must have it.
  void add_build_id(std::string_view path, std::span<const std::byte> id);

  [[nodiscard]] const MappedFileInfo& info(uint32_t file) const { return files_[file]->info; }
  // Of all files that have one, by their paths as they are shown.
  [[nodiscard]] std::map<std::string, std::vector<std::byte>> build_ids() const;
  const MappedContents& open(uint32_t file);
  // Whether open() would say that it is an ELF file, without reading its symbols where possible.
  bool is_elf(uint32_t file);
  [[nodiscard]] size_t size() const { return files_.size(); }
  // The time that reading files for their names may take: strangers made them.
  [[nodiscard]] WorkBudget& budget() { return budget_; }
  // "FILE: why its names are not all known", for files that were read in part or not at all because
  // that would have taken too long.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }
  [[nodiscard]] const ElfImageOptions& elf_options() const { return elf_options_; }

 private:
  struct Entry {
    MappedFileInfo info;
    std::unique_ptr<MappedContents> opened;
    std::optional<bool> elf;
  };
  struct Key {
    std::string path;
    uint64_t inode = 0;
    std::vector<std::byte> build_id;
    auto operator<=>(const Key&) const = default;
  };
  void open_file(Entry& entry);
  void read_file(Entry& entry);
  static void identify(MappedFileInfo& info, const perfdata::Mmap& mmap);

  const NamingOptions& options_;
  ElfImageOptions elf_options_;
  WorkBudget budget_;
  std::vector<std::string> left_out_;
  std::vector<std::unique_ptr<Entry>> files_;
  std::map<Key, uint32_t> numbers_;
  std::map<std::string, std::vector<std::byte>, std::less<>> build_ids_;
};

}  // namespace jitscope
