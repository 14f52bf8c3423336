// See exports.h.
#include "formats/pe/exports.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

constexpr size_t kExportHeader = 40;

}  // namespace

Result<PeExports> PeExports::parse(const PeImage& image) {
  PeExports out;
  const PeDirectory directory = image.headers().directory(PeTable::exports);
  if (directory.rva == 0 || directory.size == 0) return out;
  const auto damaged = [] {
    return fail(ErrorKind::damaged, "the exports of a PE image are not all in the file");
  };
  ByteCursor header(image.bytes(directory.rva, kExportHeader));
  header.seek(16);
  const uint32_t first_ordinal = header.u32();
  const uint32_t function_count = header.u32();
  const uint32_t name_count = header.u32();
  const uint32_t functions_at = header.u32();
  const uint32_t names_at = header.u32();
  const uint32_t ordinals_at = header.u32();
  if (!header.ok()) return damaged();
  ByteCursor functions(image.bytes(functions_at, uint64_t{function_count} * 4));
  ByteCursor names(image.bytes(names_at, uint64_t{name_count} * 4));
  ByteCursor ordinals(image.bytes(ordinals_at, uint64_t{name_count} * 2));
  if (functions.size() / 4 != function_count || names.size() / 4 != name_count ||
      ordinals.size() / 2 != name_count) {
    return damaged();
  }

  std::vector<uint32_t> addresses(function_count);
  for (uint32_t& address : addresses) {
    address = functions.u32();
    // A forwarder: the address of the other's name, within the directory.
    if (address >= directory.rva && address - directory.rva < directory.size) address = 0;
  }
  std::vector<NameArena::Wanted> wanted;
  std::vector<bool> named(function_count);
  for (uint32_t i = 0; i < name_count; ++i) {
    const uint32_t name = names.u32();
    const uint16_t index = ordinals.u16();
    if (index >= function_count || addresses[index] == 0) continue;
    named[index] = true;
    wanted.push_back({name, static_cast<uint32_t>(out.rows_.size())});
    out.rows_.push_back({addresses[index], {}});
  }
  if (!out.names_.add_all(
          std::move(wanted), image.file().size(), [&](uint64_t rva) { return image.from(rva); },
          [&](uint32_t row, NameArena::Name name) { out.rows_[row].name = name; })) {
    return fail(ErrorKind::damaged, "the names of a PE image's exports make no sense");
  }
  std::erase_if(out.rows_, [](const Row& row) { return row.name.size == 0; });
  for (uint32_t i = 0; i < function_count; ++i) {
    if (named[i] || addresses[i] == 0) continue;
    const std::string name = "#" + std::to_string(uint64_t{first_ordinal} + i);
    out.rows_.push_back({addresses[i], out.names_.add(name)});
  }
  const auto rank = [&](const Row& row) {
    const bool ordinal = out.names_.text(row.name).starts_with('#');
    return std::tuple(row.rva, ordinal, row.name.size, row.name.at);
  };
  std::ranges::sort(out.rows_, {}, rank);
  out.rows_.shrink_to_fit();
  out.names_.shrink();
  return out;
}

}  // namespace jitscope
