// Reads a live image back from bytes that anybody may have written: what `expose --undo` relies on
// when the jitscope that made the image is gone. All access through ByteCursor; work and memory are
// bounded by the bytes given.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/byte_cursor.h"
#include "live_image/live_image.h"
#include "live_image/live_image_layout.h"

namespace jitscope {
namespace {

namespace layout = live_image_layout;

// True when the fixed bytes of the first page are ours, whatever the version; the cursor then
// stands behind the magic number.
bool at_our_note(ByteCursor& cursor) {
  const auto ident = cursor.bytes(EI_VERSION + 1);
  if (!cursor.ok() || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0 ||
      std::to_integer<int>(ident[EI_CLASS]) != ELFCLASS64 ||
      std::to_integer<int>(ident[EI_DATA]) != ELFDATA2LSB) {
    return false;
  }
  cursor.seek(layout::notes_offset);
  const uint32_t name_size = cursor.u32();
  const uint32_t descriptor_size = cursor.u32();
  const uint32_t type = cursor.u32();
  const auto name = cursor.bytes(layout::owner.size());
  const uint64_t magic = cursor.u64();
  return cursor.ok() && name_size == layout::owner_size &&
         descriptor_size >= sizeof(layout::ImageHeader) && type == layout::note_type &&
         std::memcmp(name.data(), layout::owner.data(), layout::owner.size()) == 0 &&
         magic == layout::magic;
}

Result<layout::ImageHeader> read_header(ByteCursor& cursor) {
  layout::ImageHeader header;
  header.version = cursor.u32();
  header.pid = cursor.u32();
  header.start_ticks = cursor.u64();
  header.table_offset = cursor.u64();
  header.table_length = cursor.u64();
  header.text_offset = cursor.u64();
  header.text_length = cursor.u64();
  header.record_size = cursor.u32();
  header.check = cursor.u32();
  if (!cursor.ok()) return fail(cursor.error("the image header is cut short"));
  if (header.version != layout::version) {
    return fail(ErrorKind::not_possible,
                fmt::format("the code image has layout version {}, this jitscope knows {}",
                            header.version, layout::version),
                {}, "use the version of jitscope that made it");
  }
  if (header.check != layout::header_check(header)) {
    return fail(ErrorKind::damaged, "the header of the code image does not match its check sum");
  }
  return header;
}

Status check_geometry(const layout::ImageHeader& header) {
  const auto whole_pages = [](uint64_t value) {
    return value != 0 && value % live_image_page == 0 && value <= layout::max_mapped_length;
  };
  if (header.record_size != layout::record_size || header.table_offset != live_image_page ||
      !whole_pages(header.table_length) || !whole_pages(header.text_length) ||
      header.text_offset != header.table_offset + header.table_length ||
      header.text_offset + header.text_length > layout::max_mapped_length) {
    return fail(ErrorKind::damaged,
                fmt::format("the code image's parts make no sense: table {:#x}+{:#x} of {}-byte "
                            "records, text {:#x}+{:#x}",
                            header.table_offset, header.table_length, header.record_size,
                            header.text_offset, header.text_length));
  }
  return {};
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

bool looks_like_live_image(std::span<const std::byte> first_page) {
  ByteCursor cursor(first_page);
  return at_our_note(cursor);
}

std::span<const std::byte> live_image_build_id(std::span<const std::byte> first_page) {
  using namespace layout;
  constexpr uint64_t begin = notes_end - build_id_size;
  return first_page.size() < notes_end ? std::span<const std::byte>{}
                                       : first_page.subspan(begin, build_id_size);
}

uint64_t live_image_bytes_to_parse(std::span<const std::byte> first_page) {
  ByteCursor cursor(first_page);
  if (!at_our_note(cursor)) return 0;
  const auto header = read_header(cursor);
  return header && check_geometry(*header) ? header->text_offset : 0;
}

bool live_image_table_goes_on(std::span<const std::byte> part) {
  return part.size() >= layout::record_size && !all_zero(part.last(layout::record_size));
}

Result<ParsedImage> parse_live_image(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  if (!at_our_note(cursor)) {
    return fail(ErrorKind::not_found, "these bytes are no code image of jitscope");
  }
  JITSCOPE_ASSIGN(const layout::ImageHeader header, read_header(cursor));
  JITSCOPE_TRY(check_geometry(header));

  ParsedImage image;
  image.identity = {header.pid, header.start_ticks};
  image.text_begin = header.text_offset;
  image.text_end = header.text_offset + header.text_length;

  cursor.seek(header.table_offset);
  ByteCursor table = cursor.slice(header.table_length);
  if (!table.ok()) return fail(cursor.error("the site table of the code image is cut short"));
  for (uint64_t index = 0; table.remaining() >= layout::record_size; ++index) {
    const auto raw = table.bytes(layout::record_size);
    if (all_zero(raw)) break;
    layout::SiteRecord record;
    std::memcpy(&record, raw.data(), raw.size());
    // A record that its writer did not finish belongs to an entry that was never patched: the
    // record comes first. So it can be left out; the others still count.
    if (record.check != layout::record_check(record, index) || record.entry == 0 ||
        record.original_length < layout::min_original ||
        record.original_length > live_image_max_original || record.slot_offset < image.text_begin ||
        record.slot_offset >= image.text_end) {
      ++image.damaged_records;
      continue;
    }
    ImageRecord& site = image.records.emplace_back();
    site.entry = record.entry;
    site.slot_offset = record.slot_offset;
    site.original_length = record.original_length;
    std::copy_n(record.original, record.original_length, site.original);
  }
  return image;
}

}  // namespace jitscope
