// LiveImage: an ELF file of ours that is mapped into a running process and holds the slots that
// probes sit on. This file writes and reads the *file*; mapping it is surgery's job.
//
// Layout (docs/live-image.md): one private r-x PT_LOAD from file offset 0:
//   page 0            ELF header, program headers, notes: "jitscope" (the image header: magic,
//                     version, pid, start ticks, where table and text lie) and GNU build-id
//   table pages       one 64-byte record a site: entry address, slot offset, covered length,
//   original
//                     bytes: what `expose --undo` needs to put an entry back without a jitscope
//   text pages        slots; every batch begins on a fresh page (a page that carries a uprobe is a
//                     private copy in the target: later writes to the file would not appear there)
// and behind it, not mapped, rewritten by appending and one 8-byte store to e_shoff: .symtab,
// .strtab, .shstrtab, section headers. Numbers are little endian.
//
// Two forms of site: `direct` has its own probe nop in its slot; `shared` slots of one method call
// one common probe point (`nop4; ret`), so that one symbol stands for all bodies of a method, also
// for later ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

inline constexpr uint64_t live_image_page = 4096;
inline constexpr uint32_t live_image_max_original = 24;  // bytes of an entry that can be saved

struct ImageRecord {
  uint64_t entry = 0;        // address in the target; 0 = unused record
  uint64_t slot_offset = 0;  // in the file (and from the mapping's start)
  uint32_t original_length = 0;
  std::byte original[live_image_max_original] = {};
};

struct ImageSymbol {
  std::string name;
  uint64_t offset = 0;  // in the file
  uint64_t size = 0;    // never 0
  bool global = true;  // a function; local labels name slots for profilers, tools cannot probe them
};

struct ImageIdentity {
  uint32_t pid = 0;  // in the target's own pid namespace
  uint64_t start_ticks = 0;
};

class LiveImage {
 public:
  // Lays out an empty image in `fd` (read-write; takes ownership), with space for `sites` records
  // and `text_pages` pages of slots; blocks of the table and the text are allocated when they are
  // first needed. `sites` and `text_pages` are rounded up to whole pages. The file
  // must be new (a hole made by ftruncate, not longer than the image, will do): never lay an image
  // over one that a process may have mapped.
  static Result<LiveImage> create(UniqueFd fd, const ImageIdentity& identity, uint32_t sites = 1024,
                                  uint32_t text_pages = 512);

  [[nodiscard]] uint64_t mapped_length() const;
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] uint64_t text_begin() const;
  [[nodiscard]] uint64_t text_end() const;

  // Begins a fresh page for a batch and reserves `bytes` there: the file offset, or an error when
  // the image is full. The batch's pages are allocated and filled with int3.
  Result<uint64_t> begin_batch(uint64_t bytes);
  // Up to where the file must be mapped for a batch of so many bytes.
  [[nodiscard]] uint64_t batch_end(uint64_t bytes) const;
  // Writes code into text that begin_batch() reserved (and allocated).
  Status write_text(uint64_t offset, std::span<const std::byte> code);
  // Appends a record; the entry may be patched only after this. original_length is at least 5.
  Status add_record(const ImageRecord& record);
  [[nodiscard]] uint32_t record_count() const { return record_count_; }
  [[nodiscard]] uint32_t record_capacity() const;

  // Adds symbols and writes the symbol table and section headers anew behind the old ones (so add
  // them in batches). They lie in reserved text. Names are taken as they are: which names which
  // tool can take is the caller's business.
  Status add_symbols(std::span<const ImageSymbol> symbols);
  [[nodiscard]] const std::vector<ImageSymbol>& symbols() const { return symbols_; }

 private:
  LiveImage() = default;
  UniqueFd fd_;
  ImageIdentity identity_;
  uint32_t table_pages_ = 0;
  uint32_t text_pages_ = 0;
  uint64_t next_text_ = 0;
  uint32_t record_count_ = 0;
  uint64_t tail_ = 0;
  std::vector<ImageSymbol> symbols_;
};

// The mapped length of an image before there is one: what create() with these numbers will give.
[[nodiscard]] constexpr uint64_t live_image_length(uint32_t sites, uint32_t text_pages) {
  constexpr uint64_t record_bytes = 64;
  const uint64_t table = sites * record_bytes;
  return live_image_page + (table + live_image_page - 1) / live_image_page * live_image_page +
         text_pages * live_image_page;
}

struct ParsedImage {
  ImageIdentity identity;
  uint64_t text_begin = 0;
  uint64_t text_end = 0;
  std::vector<ImageRecord> records;
  // Records that were half written or make no sense; left out above. The entry of a half-written
  // record was never patched (the record comes first).
  uint32_t damaged_records = 0;
};

// Recognises a live image in bytes copied out of a target's mapping, or in the file (hostile either
// way; header and table suffice, the text need not be among them). not_found when it is no image of
// ours, damaged when it is one but makes no sense, not_possible when a later version made it.
Result<ParsedImage> parse_live_image(std::span<const std::byte> bytes);
// The first page alone decides this (for looking through many mappings).
[[nodiscard]] bool looks_like_live_image(std::span<const std::byte> first_page);
// What tells one image from all others that lay or will lie at its place.
[[nodiscard]] std::span<const std::byte> live_image_build_id(std::span<const std::byte> first_page);
// How many bytes parse_live_image needs: header and table. 0 when the first page makes no sense.
[[nodiscard]] uint64_t live_image_bytes_to_parse(std::span<const std::byte> first_page);
// Whether there may be records behind `part` (pages of the table): its last one is in use.
[[nodiscard]] bool live_image_table_goes_on(std::span<const std::byte> part);

}  // namespace jitscope
