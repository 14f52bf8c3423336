// See debug_entries.h.
#include "formats/pe/debug_entries.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

constexpr size_t kRow = 28;
constexpr size_t kMostRows = 256;
constexpr uint32_t kCodeView = 2;
constexpr uint32_t kPerfMap = 21;
constexpr uint32_t kRsds = 0x53445352;
constexpr uint32_t kR2rm = 0x4d523252;

std::array<std::byte, 16> read_identity(ByteCursor& cursor) {
  std::array<std::byte, 16> out{};
  const std::span<const std::byte> bytes = cursor.bytes(out.size());
  std::ranges::copy(bytes, out.begin());
  return out;
}

// Up to a NUL or the end.
std::string read_name(ByteCursor& cursor) {
  const std::span<const std::byte> rest = cursor.rest();
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  return std::string(text.substr(0, text.find('\0')));
}

std::optional<PeDebugEntries::CodeView> read_code_view(ByteCursor cursor) {
  if (cursor.u32() != kRsds) return std::nullopt;
  PeDebugEntries::CodeView out;
  out.guid = read_identity(cursor);
  out.age = cursor.u32();
  if (!cursor.ok()) return std::nullopt;
  out.path = read_name(cursor);
  return out;
}

std::optional<PeDebugEntries::PerfMap> read_perf_map(ByteCursor cursor) {
  if (cursor.u32() != kR2rm) return std::nullopt;
  PeDebugEntries::PerfMap out;
  out.signature = read_identity(cursor);
  out.version = cursor.u32();
  if (!cursor.ok()) return std::nullopt;
  out.name = read_name(cursor);
  return out;
}

std::optional<PeDebugEntries::DebugLink> read_debug_link(ByteCursor cursor) {
  PeDebugEntries::DebugLink out;
  out.name = cursor.c_string();
  cursor.align(4);
  out.crc = cursor.u32();
  if (!cursor.ok() || out.name.empty()) return std::nullopt;
  return out;
}

// Where the row says that its data lies: most have both, an address may be 0 (not loaded).
ByteCursor data_of(const PeImage& image, uint32_t size, uint32_t rva, uint32_t offset) {
  const std::span<const std::byte> file = image.file();
  if (offset != 0 && offset < file.size() && size <= file.size() - offset) {
    return ByteCursor(file.subspan(offset, size));
  }
  return ByteCursor(image.bytes(rva, size));
}

void read_directory(const PeImage& image, std::span<const std::byte> bytes, PeDebugEntries& out) {
  ByteCursor rows(bytes.first(std::min(bytes.size(), kMostRows * kRow)));
  while (rows.remaining() >= kRow) {
    rows.skip(12);  // characteristics, time, version
    const uint32_t type = rows.u32();
    const uint32_t size = rows.u32();
    const uint32_t rva = rows.u32();
    const uint32_t offset = rows.u32();
    if (type == kCodeView && !out.code_view) {
      out.code_view = read_code_view(data_of(image, size, rva, offset));
    } else if (type == kPerfMap && !out.perf_map) {
      out.perf_map = read_perf_map(data_of(image, size, rva, offset));
    }
  }
}

}  // namespace

PeDebugEntries PeDebugEntries::parse(const PeImage& image) {
  PeDebugEntries out;
  read_directory(image, image.bytes(image.headers().directory(PeTable::debug)), out);
  // GNU ld's section is such a directory of one row, and what it points to.
  if (!out.code_view) {
    const std::span<const std::byte> own = image.section_bytes(".buildid");
    if (own.size() >= kRow) read_directory(image, own.first(kRow), out);
  }
  out.debug_link = read_debug_link(ByteCursor(image.section_bytes(".gnu_debuglink")));
  return out;
}

}  // namespace jitscope
