// ElfFile: one ELF file or image in memory, through libelf, with what a stranger's file could do
// to us kept out.
//
// The file is read, not mapped: one that shrinks meanwhile gives an error and no SIGBUS. libelf
// checks that offsets and sizes lie inside the file, but a sparse file may be of any size and a
// compressed section may say anything about what it will become: both are bounded here before
// libelf allocates. Contents are copies and outlive the file.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/open_file.h"
#include "base/result.h"
#include "symbolize/elf_image.h"

namespace jitscope {

class ElfFile {
 public:
  struct Segment {
    uint64_t offset = 0;
    uint64_t file_size = 0;
    uint64_t address = 0;
    uint64_t memory_size = 0;
    bool executable = false;
  };
  struct Section {
    std::string name;
    GElf_Shdr header = {};
  };

  // Of `path` inside `root`. damaged: no ELF.
  static Result<std::unique_ptr<ElfFile>> open(const std::string& path,
                                               const std::string& root = {});
  static Result<std::unique_ptr<ElfFile>> from_fd(UniqueFd fd, const std::string& path);
  static Result<std::unique_ptr<ElfFile>> from_memory(std::vector<std::byte> bytes,
                                                      std::string where);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  [[nodiscard]] Elf* elf() const { return elf_; }
  [[nodiscard]] const std::string& path() const { return path_; }  // inside root()
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] int fd() const { return file_.fd.get(); }
  [[nodiscard]] const struct stat& status() const { return file_.status; }
  [[nodiscard]] uint16_t type() const { return header_.e_type; }
  [[nodiscard]] uint16_t machine() const { return header_.e_machine; }
  [[nodiscard]] const BuildIdBytes& build_id() const { return build_id_; }

  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  // By index; section 0 is there too.
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }
  [[nodiscard]] const Section* section(std::string_view name, uint32_t type) const;
  // A section with contents, that is, not of a file whose code was taken out.
  [[nodiscard]] const Section* filled_section(std::string_view name) const;

  // The bytes as they are in memory (uncompressed, in the byte order of the host for tables that
  // libelf knows); nullptr when they cannot be had.
  [[nodiscard]] Elf_Data* data(const Section& section) const;
  // The bytes of a string table and a NUL behind them; nullptr when they cannot be had. Straight
  // from the file: tables of names are large, and what libelf has read stays in memory with it.
  struct Text {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };
  [[nodiscard]] Text text(const Section& section) const;
  // Whether libdw may read it: no section is or becomes larger than is sensible.
  [[nodiscard]] bool sizes_are_sane() const;

 private:
  ElfFile() = default;
  Status read_headers();
  Status check_section_count(std::string_view start);
  void read_build_id();
  [[nodiscard]] bool sane(const Section& section) const;
  [[nodiscard]] bool expands_sanely(const Section& section) const;

  OpenedFile file_;
  std::vector<std::byte> memory_;
  std::string path_;
  std::string root_;
  Elf* elf_ = nullptr;
  GElf_Ehdr header_ = {};
  std::vector<Segment> segments_;
  std::vector<Section> sections_;
  BuildIdBytes build_id_;
  bool sizes_are_sane_ = true;
};

// Equal, but for the zeroes that fill a short one up to 20 bytes in a recording.
[[nodiscard]] bool same_build_id(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace jitscope
