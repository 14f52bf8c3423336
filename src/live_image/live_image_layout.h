// The bytes of a live image: where what lies, shared by its writer, its parser and its tests.
//
// ELF structures are those of <elf.h> (System V gABI, x86-64 psABI). What is ours is the note of
// owner "jitscope" (the image header) at a fixed offset, and the 64-byte site records. All numbers
// are little endian. A field is never given another meaning: a new layout gets a new version.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "live_image/live_image.h"

namespace jitscope::live_image_layout {

// Page 0: Elf64_Ehdr, three program headers (LOAD, NOTE, GNU_STACK), then the notes without a gap
// between them (a reader of PT_NOTE walks from one to the next).
inline constexpr uint64_t program_headers_offset = sizeof(Elf64_Ehdr);
inline constexpr uint16_t program_header_count = 3;
inline constexpr uint64_t notes_offset = 0x100;
static_assert(program_headers_offset + program_header_count * sizeof(Elf64_Phdr) <= notes_offset);

inline constexpr std::string_view owner{"jitscope\0\0\0\0", 12};  // padded to a multiple of 4
inline constexpr uint32_t owner_size = 9;                         // with its NUL, as n_namesz wants
inline constexpr uint32_t note_type = 1;
inline constexpr uint64_t image_header_offset = notes_offset + sizeof(Elf64_Nhdr) + owner.size();
inline constexpr uint64_t magic = 0x45504f435354494a;  // "JITSCOPE"
inline constexpr uint32_t version = 1;

// The descriptor of our note. `check` is hash() over the bytes before it.
struct ImageHeader {
  uint64_t magic = live_image_layout::magic;
  uint32_t version = live_image_layout::version;
  uint32_t pid = 0;
  uint64_t start_ticks = 0;
  uint64_t table_offset = 0;
  uint64_t table_length = 0;
  uint64_t text_offset = 0;
  uint64_t text_length = 0;
  uint32_t record_size = 0;
  uint32_t check = 0;
};
static_assert(sizeof(ImageHeader) == 64 && image_header_offset % 8 == 0);

inline constexpr uint64_t build_id_offset = image_header_offset + sizeof(ImageHeader);
inline constexpr uint32_t build_id_size = 20;
inline constexpr uint64_t notes_end = build_id_offset + sizeof(Elf64_Nhdr) + 4 + build_id_size;
static_assert(notes_end <= live_image_page);

// One site. `check` is hash() over all other bytes, seeded with the record's index: a record that
// was half written when its writer died, or that was copied elsewhere, does not pass. The table
// ends at the first record that is all zeros.
struct SiteRecord {
  uint64_t entry = 0;
  uint64_t slot_offset = 0;
  uint32_t original_length = 0;
  uint32_t check = 0;
  std::byte original[live_image_max_original] = {};
  std::byte reserved[16] = {};
};
inline constexpr uint64_t record_size = 64;
// The least that is ever put over an entry is a 5-byte jump.
inline constexpr uint32_t min_original = 5;
static_assert(sizeof(SiteRecord) == record_size && live_image_page % record_size == 0);

// An image must stay within reach of a 32-bit displacement together with the code it serves.
inline constexpr uint64_t max_mapped_length = 1ULL << 30;

// FNV-1a, 64 bits folded to 32: against accidents, not against malice.
[[nodiscard]] uint32_t hash(std::span<const std::byte> bytes, uint64_t seed);
[[nodiscard]] uint32_t record_check(SiteRecord record, uint64_t index);
[[nodiscard]] uint32_t header_check(const ImageHeader& header);

// The section headers always have this number and order, so that e_shnum and e_shstrndx never
// change and one 8-byte store to e_shoff moves a reader from one symbol table to the next.
enum Section : uint16_t {
  section_null,
  section_note,      // .note.jitscope
  section_build_id,  // .note.gnu.build-id
  section_sites,     // .jitscope.sites
  section_text,      // .text
  section_symtab,    // .symtab
  section_strtab,    // .strtab
  section_shstrtab,  // .shstrtab
  section_count,
};

struct Geometry {
  uint64_t table_offset = live_image_page;
  uint64_t table_length = 0;
  uint64_t text_length = 0;
  [[nodiscard]] uint64_t text_offset() const { return table_offset + table_length; }
  [[nodiscard]] uint64_t text_end() const { return text_offset() + text_length; }
};

// Page 0 as bytes.
[[nodiscard]] std::vector<std::byte> first_page(const ImageIdentity& identity,
                                                const Geometry& geometry,
                                                std::span<const std::byte> build_id,
                                                uint64_t section_headers);

// .symtab, .strtab, .shstrtab and the section headers, to be written at `offset` of the file.
struct Tail {
  std::vector<std::byte> bytes;
  uint64_t section_headers = 0;  // absolute: the new e_shoff
};
Result<Tail> symbol_tail(std::span<const ImageSymbol> symbols, const Geometry& geometry,
                         uint64_t offset);

}  // namespace jitscope::live_image_layout
