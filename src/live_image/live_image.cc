// Writes a live image. The order of the writes is what keeps two parties safe who look at the file
// all the time: the target, which runs its text pages, and tools, which read its symbols.
//
// - Blocks are allocated before bytes are relied upon (posix_fallocate), so that a full disk is an
//   error here and never a SIGBUS there: a page of the table with its first record, pages of text
//   with their batch. The file never shrinks.
// - The part behind the mapping only grows; readers are moved over by one aligned 8-byte store to
//   e_shoff. Nothing that a reader may be looking at is overwritten. Each add_symbols() writes the
//   whole table again: add symbols in batches.
#include "live_image/live_image.h"

#include "arch/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "image/image_io.h"
#include "live_image/live_image_layout.h"

namespace jitscope {
namespace {

namespace layout = live_image_layout;

Status allocate(int fd, uint64_t offset, uint64_t length) {
  int code = EINTR;
  while (code == EINTR) {
    code = ::posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(length));
  }
  if (code != 0) return fail(image_io_error("cannot allocate the blocks of the code image", code));
  return {};
}

uint64_t page_up(uint64_t value) {
  return (value + live_image_page - 1) / live_image_page * live_image_page;
}

// A process may have mapped what is in the file: refuse to lay a new image over it. A hole that
// somebody made ready (ftruncate of a fresh memfd) is fine.
Status check_fresh(int fd, uint64_t length) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) {
    return fail(system_error("cannot look at the file for the image"));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::not_possible, "the file for the image is no regular file");
  }
  // SEEK_DATA and not st_blocks: small files may lie in the inode.
  const bool has_data = status.st_size != 0 && (::lseek(fd, 0, SEEK_DATA) >= 0 || errno != ENXIO);
  if (has_data || static_cast<uint64_t>(status.st_size) > length) {
    return fail(ErrorKind::not_possible, "the file for the image is not empty", {},
                "use a new file: a process may have this one mapped");
  }
  return {};
}

layout::Geometry geometry_of(uint64_t table_pages, uint64_t text_pages) {
  layout::Geometry geometry;
  geometry.table_length = table_pages * live_image_page;
  geometry.text_length = text_pages * live_image_page;
  return geometry;
}

}  // namespace

Result<LiveImage> LiveImage::create(UniqueFd fd, const ImageIdentity& identity, uint32_t sites,
                                    uint32_t text_pages) {
  const uint64_t table_length = page_up(std::max<uint64_t>(sites, 1) * layout::record_size);
  const uint64_t text_length = std::max<uint64_t>(text_pages, 1) * live_image_page;
  const uint64_t length = live_image_page + table_length + text_length;
  if (length > layout::max_mapped_length) {
    return fail(ErrorKind::not_possible,
                fmt::format("a code image of {} bytes is too large to be reached by jumps", length),
                {}, fmt::format("stay below {} bytes", layout::max_mapped_length));
  }
  JITSCOPE_TRY(check_fresh(fd.get(), length));

  std::array<std::byte, layout::build_id_size> build_id{};
  for (size_t have = 0; have < build_id.size();) {
    const ssize_t got = ::getrandom(build_id.data() + have, build_id.size() - have, 0);
    if (got < 0 && errno != EINTR) return fail(system_error("cannot get random bytes"));
    if (got > 0) have += static_cast<size_t>(got);
  }

  LiveImage image;
  image.fd_ = std::move(fd);
  image.identity_ = identity;
  image.table_pages_ = static_cast<uint32_t>(table_length / live_image_page);
  image.text_pages_ = static_cast<uint32_t>(text_length / live_image_page);
  image.next_text_ = image.text_begin();
  image.tail_ = image.mapped_length();

  if (::ftruncate(image.fd(), static_cast<off_t>(length)) != 0) {
    return fail(image_io_error("cannot set the size of the code image", errno));
  }
  JITSCOPE_TRY(allocate(image.fd(), 0, 2 * live_image_page));  // and the first page of the table
  const layout::Geometry geometry = geometry_of(image.table_pages_, image.text_pages_);
  JITSCOPE_ASSIGN(const layout::Tail tail, layout::symbol_tail({}, geometry, image.tail_));
  JITSCOPE_TRY(allocate(image.fd(), image.tail_, tail.bytes.size()));
  JITSCOPE_TRY(write_image_at(image.fd(), image.tail_, tail.bytes));
  image.tail_ += tail.bytes.size();
  // Last: without it the file is no ELF, with it the file is a whole one.
  JITSCOPE_TRY(write_image_at(
      image.fd(), 0, layout::first_page(identity, geometry, build_id, tail.section_headers)));
  return image;
}

uint64_t LiveImage::mapped_length() const {
  return text_end();
}

uint64_t LiveImage::text_begin() const {
  return geometry_of(table_pages_, text_pages_).text_offset();
}

uint64_t LiveImage::text_end() const {
  return geometry_of(table_pages_, text_pages_).text_end();
}

uint32_t LiveImage::record_capacity() const {
  return static_cast<uint32_t>(table_pages_ * (live_image_page / layout::record_size));
}

uint64_t LiveImage::batch_end(uint64_t bytes) const {
  return page_up(page_up(next_text_) + bytes);
}

Result<uint64_t> LiveImage::begin_batch(uint64_t bytes) {
  if (bytes == 0) return fail(ErrorKind::not_possible, "a batch of no bytes has no place");
  const uint64_t begin = page_up(next_text_);
  if (begin > text_end() || bytes > text_end() - begin) {
    return fail(ErrorKind::not_possible,
                fmt::format("the code image is full: {} bytes wanted, {} left", bytes,
                            begin > text_end() ? 0 : text_end() - begin),
                {}, "what is in place stays; a new run gets a new image");
  }
  // Whole pages of int3: nothing between the slots can run by accident, and no page that the target
  // touches is a hole.
  const std::vector<std::byte> filler(page_up(bytes), machine::trap_byte);
  JITSCOPE_TRY(allocate(fd(), begin, filler.size()));
  JITSCOPE_TRY(write_image_at(fd(), begin, filler));
  next_text_ = begin + bytes;
  return begin;
}

Status LiveImage::write_text(uint64_t offset, std::span<const std::byte> code) {
  if (offset < text_begin() || offset > next_text_ || code.size() > next_text_ - offset) {
    return fail(
        ErrorKind::not_possible,
        fmt::format("{} bytes of code at {:#x} lie outside of the reserved text {:#x}-{:#x}",
                    code.size(), offset, text_begin(), next_text_));
  }
  return write_image_at(fd(), offset, code);  // the blocks were allocated with the batch
}

Status LiveImage::add_record(const ImageRecord& record) {
  if (record_count_ >= record_capacity()) {
    return fail(ErrorKind::not_possible,
                fmt::format("the table of the code image is full ({} sites)", record_capacity()),
                {}, "what is in place stays; a new run gets a new image");
  }
  if (record.entry == 0 || record.original_length < layout::min_original ||
      record.original_length > live_image_max_original || record.slot_offset < text_begin() ||
      record.slot_offset >= next_text_) {
    return fail(ErrorKind::not_possible,
                fmt::format("a site record makes no sense: entry {:#x}, slot {:#x}, {} bytes",
                            record.entry, record.slot_offset, record.original_length));
  }
  layout::SiteRecord bytes;
  bytes.entry = record.entry;
  bytes.slot_offset = record.slot_offset;
  bytes.original_length = record.original_length;
  std::copy_n(record.original, record.original_length, bytes.original);
  bytes.check = layout::record_check(bytes, record_count_);
  const uint64_t offset = live_image_page + record_count_ * layout::record_size;
  if (offset % live_image_page == 0) JITSCOPE_TRY(allocate(fd(), offset, live_image_page));
  JITSCOPE_TRY(write_image_at(fd(), offset, std::as_bytes(std::span(&bytes, 1))));
  ++record_count_;
  return {};
}

Status LiveImage::add_symbols(std::span<const ImageSymbol> added) {
  if (added.empty()) return {};
  for (const ImageSymbol& symbol : added) {
    if (symbol.name.empty() || symbol.name.find('\0') != std::string::npos || symbol.size == 0 ||
        symbol.offset < text_begin() || symbol.offset >= next_text_ ||
        symbol.size > next_text_ - symbol.offset) {
      return fail(ErrorKind::not_possible,
                  fmt::format("symbol \"{}\" at {:#x}+{:#x} is empty or lies outside of the text",
                              symbol.name, symbol.offset, symbol.size));
    }
  }
  std::vector<ImageSymbol> all = symbols_;
  all.insert(all.end(), added.begin(), added.end());

  const uint64_t offset = (tail_ + 7) / 8 * 8;
  JITSCOPE_ASSIGN(const layout::Tail tail,
                  layout::symbol_tail(all, geometry_of(table_pages_, text_pages_), offset));
  JITSCOPE_TRY(allocate(fd(), offset, tail.bytes.size()));
  JITSCOPE_TRY(write_image_at(fd(), offset, tail.bytes));
  const uint64_t section_headers = tail.section_headers;
  static_assert(offsetof(Elf64_Ehdr, e_shoff) % 8 == 0 && sizeof(Elf64_Ehdr::e_shoff) == 8);
  JITSCOPE_TRY(write_image_at(fd(), offsetof(Elf64_Ehdr, e_shoff),
                              std::as_bytes(std::span(&section_headers, 1))));
  tail_ = offset + tail.bytes.size();
  symbols_ = std::move(all);
  return {};
}

}  // namespace jitscope
