// See bundle_manifest.h.
#include "formats/bundle/bundle_manifest.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <utility>

#include "base/byte_cursor.h"
#include "base/leb128.h"

namespace jitscope {
namespace {

// The SHA-256 of ".net core bundle".
constexpr std::array<uint8_t, 32> kMarker = {
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
    0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae};
constexpr uint32_t kOldest = 1;         // .NET Core 3
constexpr uint32_t kWithLocations = 2;  // .NET 5: where the two JSON files lie, and flags
constexpr uint32_t kCompressing = 6;    // .NET 6
constexpr uint32_t kNewest = 6;
constexpr size_t kHeader = 4 + 4 + 4 + 1;
constexpr uint64_t kLocations = 5 * 8;

// As .NET's BinaryWriter writes it.
std::string read_string(ByteCursor& cursor) {
  const uint64_t size = read_uleb128(cursor);
  const std::span<const std::byte> bytes = cursor.bytes(size);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

BundleFileKind kind_of(uint8_t value) {
  return value <= static_cast<uint8_t>(BundleFileKind::symbols) ? BundleFileKind{value}
                                                                : BundleFileKind::unknown;
}

}  // namespace

Result<BundleManifest> BundleManifest::parse(std::span<const std::byte> bytes, uint64_t file_size) {
  ByteCursor cursor(bytes);
  BundleManifest out;
  out.major = cursor.u32();
  out.minor = cursor.u32();
  const int32_t count = cursor.i32();
  out.id = read_string(cursor);
  if (!cursor.ok()) return fail(cursor.error("the manifest of a single-file program"));
  if (out.major < kOldest || out.major > kNewest || count < 0) {
    return fail(ErrorKind::damaged, "a single-file program with a manifest of an unknown version");
  }
  if (out.major >= kWithLocations) cursor.skip(kLocations);
  const bool compressing = out.major >= kCompressing;
  for (int32_t i = 0; i < count && cursor.ok(); ++i) {
    BundleEntry entry;
    entry.offset = cursor.u64();
    entry.size = cursor.u64();
    if (compressing) entry.compressed = cursor.u64();
    entry.kind = kind_of(cursor.u8());
    entry.path = read_string(cursor);
    if (!cursor.ok()) break;
    const auto end = checked_add(entry.offset, entry.stored());
    if (!end || *end > file_size) {
      out.outside.push_back(std::move(entry.path));
    } else {
      out.entries.push_back(std::move(entry));
    }
  }
  if (!cursor.ok()) return fail(cursor.error("the manifest of a single-file program"));
  std::ranges::stable_sort(out.entries, {}, &BundleEntry::offset);
  return out;
}

const BundleEntry* BundleManifest::at(uint64_t offset) const {
  auto entry = std::ranges::upper_bound(entries, offset, {}, &BundleEntry::offset);
  // Empty files may begin where another one does.
  while (entry != entries.begin()) {
    --entry;
    if (entry->stored() != 0) return offset - entry->offset < entry->stored() ? &*entry : nullptr;
  }
  return nullptr;
}

std::optional<uint64_t> find_bundle_header(std::span<const std::byte> bytes, uint64_t file_size) {
  const auto marker = std::as_bytes(std::span(kMarker));
  const std::boyer_moore_horspool_searcher searcher(marker.begin(), marker.end());
  auto from = bytes.begin();
  for (;;) {
    const auto found = std::search(from, bytes.end(), searcher);
    if (found == bytes.end()) return std::nullopt;
    const auto at = static_cast<size_t>(found - bytes.begin());
    if (at >= sizeof(uint64_t)) {
      ByteCursor before(bytes.subspan(at - sizeof(uint64_t)));
      const uint64_t offset = before.u64();
      if (offset != 0 && offset < file_size && file_size - offset >= kHeader) return offset;
    }
    from = std::next(found);
  }
}

}  // namespace jitscope
