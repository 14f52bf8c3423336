// See metadata.h.
#include "formats/ecma335/metadata.h"

#include <algorithm>

#include "formats/ecma335/compressed.h"

namespace jitscope {
namespace {

constexpr uint32_t kMagic = 0x424a5342;  // "BSJB"
constexpr uint64_t kMostStreamName = 32;
constexpr size_t kGuidSize = 16;
constexpr uint8_t kWideStrings = 1;
constexpr uint8_t kWideGuids = 2;
constexpr uint8_t kWideBlobs = 4;
constexpr uint8_t kExtraData = 0x40;
constexpr uint32_t kNarrowRows = 1U << 16U;

}  // namespace

EcmaToken type_def_or_ref(uint32_t value) {
  const EcmaCoding coding = ecma_coding(EcmaCoded::type_def_or_ref);
  const uint32_t tag = value & 3U;
  if (tag >= coding.tables.size()) return {};
  return {static_cast<EcmaTable>(coding.tables[tag]), value >> 2U};
}

Result<EcmaMetadata> EcmaMetadata::parse(std::span<const std::byte> root) {
  EcmaMetadata out;
  std::span<const std::byte> tables;
  JITSCOPE_TRY(out.read_streams(root, tables));
  JITSCOPE_TRY(out.read_tables(tables));
  return out;
}

Status EcmaMetadata::read_streams(std::span<const std::byte> root,
                                  std::span<const std::byte>& tables) {
  ByteCursor cursor(root);
  if (cursor.u32() != kMagic) return fail(ErrorKind::damaged, "no CLI metadata");
  cursor.skip(8);  // version of the format
  cursor.skip(cursor.u32());
  cursor.align(4);
  cursor.skip(2);
  const uint16_t streams = cursor.u16();
  for (uint16_t i = 0; i < streams && cursor.ok(); ++i) {
    const uint32_t offset = cursor.u32();
    const uint32_t size = cursor.u32();
    const std::string_view name = cursor.c_string(kMostStreamName);
    cursor.align(4);
    if (!cursor.ok()) break;
    ByteCursor content(root);
    content.seek(offset);
    const std::span<const std::byte> bytes = content.bytes(size);
    if (!content.ok()) return fail(content.error("a stream of CLI metadata"));
    if (name == "#~") tables = bytes;
    if (name == "#Strings") strings_ = bytes;
    if (name == "#GUID") guids_ = bytes;
    if (name == "#Blob") blobs_ = bytes;
    if (name == "#-") return fail(ErrorKind::not_possible, "metadata of edit and continue");
  }
  if (!cursor.ok()) return fail(cursor.error("the header of CLI metadata"));
  if (tables.empty()) return fail(ErrorKind::damaged, "CLI metadata without tables");
  return {};
}

Status EcmaMetadata::read_tables(std::span<const std::byte> stream) {
  ByteCursor cursor(stream);
  cursor.skip(6);
  const uint8_t heap_sizes = cursor.u8();
  cursor.skip(1);
  const uint64_t valid = cursor.u64();
  cursor.skip(8);  // which are sorted
  for (size_t i = 0; i < 64; ++i) {
    if ((valid >> i & 1U) == 0) continue;
    const uint32_t rows = cursor.u32();
    if (i < kEcmaTables) tables_[i].rows = rows;
  }
  if ((heap_sizes & kExtraData) != 0) cursor.skip(4);
  for (size_t i = 0; i < kEcmaTables; ++i) {
    Table& table = tables_[i];
    const EcmaRow& row = ecma_row(i);
    for (size_t column = 0; column < row.size(); ++column) {
      const uint8_t wide = width(row[column], heap_sizes);
      table.columns[column] = {table.row_size, wide};
      table.row_size = static_cast<uint8_t>(table.row_size + wide);
    }
    table.bytes = cursor.bytes(uint64_t{table.rows} * table.row_size);
  }
  if (!cursor.ok()) return fail(cursor.error("the tables of CLI metadata"));
  return {};
}

uint8_t EcmaMetadata::width(EcmaField field, uint8_t heap_sizes) const {
  const auto wide = [](bool is) { return static_cast<uint8_t>(is ? 4 : 2); };
  switch (field.column) {
    case EcmaColumn::none:
      return 0;
    case EcmaColumn::u16:
      return 2;
    case EcmaColumn::u32:
      return 4;
    case EcmaColumn::string:
      return wide((heap_sizes & kWideStrings) != 0);
    case EcmaColumn::guid:
      return wide((heap_sizes & kWideGuids) != 0);
    case EcmaColumn::blob:
      return wide((heap_sizes & kWideBlobs) != 0);
    case EcmaColumn::row:
      return wide(tables_[field.target].rows >= kNarrowRows);
    case EcmaColumn::coded:
      break;
  }
  const EcmaCoding coding = ecma_coding(static_cast<EcmaCoded>(field.target));
  return wide(std::ranges::any_of(coding.tables, [&](uint8_t each) {
    return each < kEcmaTables && tables_[each].rows >= kNarrowRows >> coding.bits;
  }));
}

uint32_t EcmaMetadata::rows(EcmaTable which) const {
  const auto index = static_cast<size_t>(which);
  return index < kEcmaTables ? tables_[index].rows : 0;
}

bool EcmaMetadata::has(EcmaToken token) const {
  return token.row != 0 && token.row <= rows(token.table);
}

uint32_t EcmaMetadata::cell(EcmaTable which, uint32_t row, size_t column) const {
  const Table& from = table(which);
  if (row == 0 || row > from.rows) return 0;
  ByteCursor cursor(from.bytes);
  cursor.seek(uint64_t{row - 1} * from.row_size + from.columns[column].offset);
  return from.columns[column].width == 2 ? cursor.u16() : cursor.u32();
}

EcmaToken EcmaMetadata::coded(EcmaTable which, uint32_t row, size_t column) const {
  const uint32_t value = cell(which, row, column);
  const auto kind = static_cast<EcmaCoded>(ecma_row(static_cast<size_t>(which))[column].target);
  const EcmaCoding coding = ecma_coding(kind);
  const uint32_t tag = value & ((1U << coding.bits) - 1);
  if (tag >= coding.tables.size() || coding.tables[tag] >= kEcmaTables) return {};
  return {static_cast<EcmaTable>(coding.tables[tag]), value >> coding.bits};
}

std::string_view EcmaMetadata::string(EcmaTable which, uint32_t row, size_t column) const {
  ByteCursor cursor(strings_);
  cursor.seek(cell(which, row, column));
  return cursor.c_string(kMostName);
}

std::span<const std::byte> EcmaMetadata::blob(EcmaTable which, uint32_t row, size_t column) const {
  ByteCursor cursor(blobs_);
  cursor.seek(cell(which, row, column));
  const uint32_t size = compressed_uint(cursor);
  return cursor.bytes(size);
}

uint32_t EcmaMetadata::first_not_below(EcmaTable which, size_t column, uint32_t value) const {
  uint32_t low = 1;
  uint32_t high = rows(which) + 1;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (cell(which, middle, column) < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

EcmaTypeName EcmaMetadata::type_name(EcmaToken type) const {
  if (!has(type)) return {};
  if (type.table != EcmaTable::type_def && type.table != EcmaTable::type_ref) return {};
  return {string(type.table, type.row, 2), string(type.table, type.row, 1)};
}

EcmaToken EcmaMetadata::scope(EcmaToken type) const {
  if (!has(type)) return {};
  if (type.table == EcmaTable::type_ref) return coded(type.table, type.row, 0);
  if (type.table != EcmaTable::type_def) return {};
  const uint32_t row = first_not_below(EcmaTable::nested_class, 0, type.row);
  if (cell(EcmaTable::nested_class, row, 0) != type.row) return {};
  return {EcmaTable::type_def, cell(EcmaTable::nested_class, row, 1)};
}

EcmaMember EcmaMetadata::method(uint32_t row) const {
  if (!has({EcmaTable::method_def, row})) return {};
  // The last type whose methods begin at this row or before; those without methods come first.
  const uint32_t next = first_not_below(EcmaTable::type_def, 5, row + 1);
  return {string(EcmaTable::method_def, row, 3), blob(EcmaTable::method_def, row, 4),
          EcmaToken{EcmaTable::type_def, next - 1}};
}

EcmaMember EcmaMetadata::member_ref(uint32_t row) const {
  if (!has({EcmaTable::member_ref, row})) return {};
  return {string(EcmaTable::member_ref, row, 1), blob(EcmaTable::member_ref, row, 2),
          coded(EcmaTable::member_ref, row, 0)};
}

std::span<const std::byte> EcmaMetadata::type_spec(uint32_t row) const {
  if (!has({EcmaTable::type_spec, row})) return {};
  return blob(EcmaTable::type_spec, row, 0);
}

std::string_view EcmaMetadata::type_parameter(EcmaToken owner, uint32_t index) const {
  const uint32_t tag = owner.table == EcmaTable::method_def ? 1 : 0;
  if (!has(owner) || index >= kNarrowRows || owner.row > UINT32_MAX >> 1U) return {};
  const uint32_t first = first_not_below(EcmaTable::generic_param, 2, owner.row << 1U | tag);
  const uint32_t row = first + index;  // sorted by owner, then by number
  if (!has({EcmaTable::generic_param, row}) || coded(EcmaTable::generic_param, row, 2) != owner ||
      cell(EcmaTable::generic_param, row, 0) != index) {
    return {};
  }
  return string(EcmaTable::generic_param, row, 3);
}

std::string_view EcmaMetadata::name(EcmaToken token) const {
  if (!has(token)) return {};
  switch (token.table) {
    case EcmaTable::assembly:
      return string(token.table, token.row, 7);
    case EcmaTable::assembly_ref:
      return string(token.table, token.row, 6);
    case EcmaTable::module_ref:
      return string(token.table, token.row, 0);
    default:
      return {};
  }
}

std::optional<EcmaMetadata::Mvid> EcmaMetadata::mvid() const {
  const uint32_t index = cell(EcmaTable::module, 1, 2);
  if (index == 0) return std::nullopt;
  ByteCursor cursor(guids_);
  cursor.seek(uint64_t{index - 1} * kGuidSize);
  const std::span<const std::byte> bytes = cursor.bytes(kGuidSize);
  if (!cursor.ok()) return std::nullopt;
  Mvid out{};
  std::ranges::copy(bytes, out.begin());
  return out;
}

}  // namespace jitscope
