// ElfTables: the section headers, program headers and ELF header of an image.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "image/byte_writer.h"
#include "image/dwarf_strings.h"
#include "image/elf_build_id.h"

namespace jitscope {

class ElfTables {
 public:
  explicit ElfTables(uint16_t type) : type_(type), sections_(1) {}

  // `header` without its name. Returns the number of the section.
  uint16_t section(std::string_view name, Elf64_Shdr header);
  void segment(const Elf64_Phdr& header) { segments_.push_back(header); }
  [[nodiscard]] std::span<const Elf64_Phdr> segments() const { return segments_; }

  // The start of the file: ELF header, program headers (sorted as loaders want them), the note of
  // the build-id. Its length for so many program headers, without making it.
  [[nodiscard]] static constexpr uint64_t note_offset(size_t segments) {
    return sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr);
  }
  static constexpr uint64_t kNoteSize = sizeof(Elf64_Nhdr) + 4 + kBuildIdSize;
  [[nodiscard]] static constexpr uint64_t start_size(size_t segments) {
    return note_offset(segments) + kNoteSize;
  }
  void sort_segments();
  void write_start(ByteWriter& out, uint64_t section_headers,
                   std::span<const std::byte> build_id) const;
  // .shstrtab, which adds itself, and the section headers behind it: for the end of the file, at
  // `offset`. Returns where the section headers begin.
  uint64_t write_end(ByteWriter& out, uint64_t offset);

 private:
  uint16_t type_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Phdr> segments_;
  StringSection names_;
  uint16_t names_section_ = 0;
};

}  // namespace jitscope
