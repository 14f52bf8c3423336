// See r2r_header.h.
#include "formats/r2r/r2r_header.h"

#include <algorithm>

namespace jitscope {
namespace {

constexpr uint32_t kMagic = 0x00525452;      // "RTR"
constexpr uint32_t kNgenMagic = 0x0045474e;  // "NGE"
constexpr uint32_t kComponent = 0x20;
constexpr std::string_view kExport = "RTR_HEADER";
constexpr uint64_t kMetadataAt = 8;  // in a CLI header
constexpr uint64_t kNativeHeaderAt = 64;
constexpr size_t kSectionRow = 12;

// Where an exported symbol lies; 0: there is none.
uint32_t exported(const PeImage& image, std::string_view symbol) {
  const PeDirectory directory = image.headers().directory(PeTable::exports);
  if (directory.size == 0) return 0;
  ByteCursor table(image.from(directory.rva));
  table.skip(24);
  const uint32_t count = table.u32();
  const uint32_t functions = table.u32();
  const uint32_t names = table.u32();
  const uint32_t ordinals = table.u32();
  ByteCursor name_rvas(image.from(names));
  ByteCursor numbers(image.from(ordinals));
  for (uint32_t i = 0; i < count && table.ok(); ++i) {
    const uint32_t name = name_rvas.u32();
    const uint16_t number = numbers.u16();
    if (!name_rvas.ok() || !numbers.ok()) return 0;
    if (ByteCursor(image.from(name)).c_string(symbol.size() + 1) != symbol) continue;
    ByteCursor found(image.from(functions));
    found.seek(uint64_t{number} * 4);
    return found.u32();
  }
  return 0;
}

Result<R2rHeader> read_native(const PeImage& image, uint32_t rva, R2rHeader out) {
  ByteCursor cursor(image.from(rva));
  const uint32_t magic = cursor.u32();
  if (!cursor.ok()) return fail(cursor.error("the header of .NET's native code"));
  if (magic == kNgenMagic) {
    out.kind = R2rKind::ngen;
    return out;
  }
  if (magic != kMagic) return fail(ErrorKind::damaged, "native code of .NET of an unknown kind");
  out.major = cursor.u16();
  out.minor = cursor.u16();
  JITSCOPE_ASSIGN(out.sections, R2rSections::read(cursor));
  if (out.kind == R2rKind::native) {
    out.kind = R2rKind::composite;
  } else if ((out.sections.flags & kComponent) != 0 ||
             out.sections.at(R2rSection::owner_composite).size != 0) {
    out.kind = R2rKind::component;
  } else {
    out.kind = R2rKind::ready_to_run;
  }
  return out;
}

}  // namespace

std::string_view describe(R2rKind kind) {
  switch (kind) {
    case R2rKind::ready_to_run:
      return "a ReadyToRun image";
    case R2rKind::composite:
      return "a composite ReadyToRun image";
    case R2rKind::component:
      return "a part of a composite ReadyToRun image";
    case R2rKind::ngen:
      return "an NGEN image, whose methods have no names that could be read";
    case R2rKind::il_only:
      return "a .NET image without native code";
    case R2rKind::native:
      return "not a .NET image";
  }
  return "";
}

PeDirectory R2rSections::at(R2rSection type) const {
  const auto found = std::ranges::find(rows, static_cast<uint32_t>(type), &Row::type);
  return found != rows.end() ? found->where : PeDirectory{};
}

Result<R2rSections> R2rSections::read(ByteCursor& cursor) {
  R2rSections out;
  out.flags = cursor.u32();
  const uint32_t count = cursor.u32();
  ByteCursor table = cursor.slice(uint64_t{count} * kSectionRow);
  if (!cursor.ok()) return fail(cursor.error("the sections of a ReadyToRun image"));
  out.rows.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t type = table.u32();
    const uint32_t rva = table.u32();
    out.rows.push_back({type, {rva, table.u32()}});
  }
  return out;
}

PeDirectory R2rHeader::metadata_of(const PeImage& image, PeDirectory cli_header) {
  ByteCursor cursor(image.bytes(cli_header));
  cursor.seek(kMetadataAt);
  const uint32_t rva = cursor.u32();
  return {rva, cursor.u32()};
}

Result<R2rHeader> R2rHeader::read(const PeImage& image) {
  R2rHeader out;
  const PeDirectory cli = image.headers().directory(PeTable::cli);
  if (cli.size == 0) {
    const uint32_t rva = exported(image, kExport);
    if (rva == 0) return out;
    return read_native(image, rva, std::move(out));
  }
  ByteCursor cursor(image.bytes(cli));
  cursor.seek(kNativeHeaderAt);
  const uint32_t rva = cursor.u32();
  const uint32_t size = cursor.u32();
  if (!cursor.ok()) return fail(cursor.error("the CLI header"));
  out.metadata = metadata_of(image, cli);
  out.kind = R2rKind::il_only;
  if (rva == 0 || size == 0) return out;
  return read_native(image, rva, std::move(out));
}

}  // namespace jitscope
