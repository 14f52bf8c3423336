// See coff_symbols.h.
#include "formats/pe/coff_symbols.h"

#include <algorithm>
#include <tuple>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

constexpr size_t kRecord = 18;
constexpr size_t kShortName = 8;
constexpr uint16_t kFunction = 0x20;  // IMAGE_SYM_DTYPE_FUNCTION of no base type
constexpr uint16_t kDerived = 0x30;   // the bits that say what is derived

enum StorageClass : uint8_t { kExternal = 2, kStatic = 3, kLabel = 6, kWeakExternal = 105 };

bool names_code(uint8_t storage) {
  return storage == kExternal || storage == kStatic || storage == kLabel ||
         storage == kWeakExternal;
}

// GNU as calls a weak function NAME of a file that has a symbol OTHER `.weak.NAME.OTHER`, where
// NAME itself has no address. Moves to NAME.
bool take_weak(std::string_view text, NameArena::Name& name) {
  constexpr std::string_view kWeak = ".weak.";
  if (!text.starts_with(kWeak)) return false;
  const size_t dot = text.rfind('.');
  if (dot <= kWeak.size()) return false;
  name.at += static_cast<uint32_t>(kWeak.size());
  name.size = static_cast<uint32_t>(dot - kWeak.size());
  return true;
}

}  // namespace

Result<CoffSymbols> CoffSymbols::parse(const PeImage& image) {
  CoffSymbols out;
  const PeHeaders& headers = image.headers();
  if (headers.symbol_table == 0 || headers.symbol_count == 0) return out;
  const std::span<const std::byte> records = image.symbol_records();
  if (records.size() / kRecord < headers.symbol_count) {
    return fail(ErrorKind::damaged, "the COFF symbols of a PE image are not all in the file");
  }
  std::vector<NameArena::Wanted> long_names;
  ByteCursor cursor(records);
  while (cursor.remaining() >= kRecord) {
    ByteCursor record = cursor.slice(kRecord);
    ByteCursor short_name = record.slice(kShortName);
    const uint32_t value = record.u32();
    const uint16_t section_number = record.u16();  // 0 undefined, 0xffff absolute, 0xfffe debug
    const uint16_t type = record.u16();
    const uint8_t storage = record.u8();
    const uint8_t more = record.u8();
    cursor.skip(std::min<uint64_t>(uint64_t{more} * kRecord, cursor.remaining()));

    if (section_number == 0 || section_number > headers.sections.size()) continue;
    const PeSection& section = headers.sections[section_number - 1];
    if (!section.executable() || value >= section.mapped()) continue;
    if (!names_code(storage) || value > UINT32_MAX - section.rva) continue;
    Row row{section.rva + value, {}, (type & kDerived) == kFunction, storage != kStatic};
    // A section's own symbol: how long it is follows.
    if (storage == kStatic && type == 0 && more != 0) continue;
    if (short_name.u32() == 0) {
      const uint32_t offset = short_name.u32();
      // The first four bytes are the table's size.
      if (offset < 4) continue;
      long_names.push_back({offset, static_cast<uint32_t>(out.rows_.size())});
    } else {
      short_name.seek(0);
      std::string_view name(reinterpret_cast<const char*>(short_name.rest().data()), kShortName);
      name = name.substr(0, name.find('\0'));
      row.name = out.names_.add(name);
    }
    out.rows_.push_back(row);
  }

  const std::span<const std::byte> strings = image.symbol_strings();
  (void)out.names_.add_all(
      std::move(long_names), strings.size(),
      [&](uint64_t offset) {
        return offset < strings.size() ? strings.subspan(offset) : std::span<const std::byte>();
      },
      [&](uint32_t row, NameArena::Name name) { out.rows_[row].name = name; });

  for (Row& row : out.rows_) {
    if (take_weak(out.names_.text(row.name), row.name)) row.function = true;
  }
  // `.text`, `.text$foo`, `.l_start`: names of sections and of the assembler.
  std::erase_if(out.rows_, [&](const Row& row) {
    const std::string_view name = out.names_.text(row.name);
    return name.empty() || name.starts_with('.');
  });
  const auto rank = [](const Row& row) {
    const int kind = !row.function ? 2 : row.global ? 0 : 1;
    // Not the names themselves: to compare many of one length that begin alike has no bound.
    return std::tuple(row.rva, kind, row.name.size, row.name.at);
  };
  std::ranges::sort(out.rows_, {}, rank);
  out.rows_.shrink_to_fit();
  out.names_.shrink();
  return out;
}

}  // namespace jitscope
