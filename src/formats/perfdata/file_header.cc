// Header, attribute sections, feature sections; see file_header.h.
#include "formats/perfdata/file_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "formats/perfdata/attr.h"
#include "formats/perfdata/format.h"

namespace jitscope::perfdata {
namespace {

constexpr std::string_view kMagic = "PERFILE2";
constexpr std::string_view kMagicSwapped = "2ELIFREP";
constexpr std::string_view kMagicOld = "PERFFILE";

Status check_magic(std::span<const std::byte> bytes, const std::string& where) {
  const std::string_view magic(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (magic == kMagic) return {};
  if (magic == kMagicSwapped) {
    return fail(ErrorKind::not_possible, "was recorded on a big-endian machine", where,
                "only little-endian recordings are read: record and read on a machine such as "
                "x86-64 or AArch64");
  }
  if (magic == kMagicOld) {
    return fail(ErrorKind::not_possible, "is of the first format of perf.data (before Linux 3.4)",
                where, "record again with a perf of this decade");
  }
  if (bytes.empty()) {
    return fail(ErrorKind::damaged, "is empty", where, "perf record wrote nothing, or not here");
  }
  return fail(ErrorKind::damaged, "is no perf.data: it does not begin with PERFILE2", where);
}

FileHeader::Section section(ByteCursor& cursor) {
  const uint64_t offset = cursor.u64();
  return {offset, cursor.u64()};
}

}  // namespace

Result<FileHeader> read_file_header(Input& input) {
  const std::string where = input.where();
  std::array<std::byte, kFileHeaderSize> buffer{};
  size_t have = 0;
  const auto fill = [&](size_t want) -> Status {
    while (have < want) {
      JITSCOPE_ASSIGN(const size_t got, input.next(std::span(buffer).subspan(have, want - have)));
      if (got == 0) break;
      have += got;
    }
    return {};
  };
  JITSCOPE_TRY(fill(kPipeHeaderSize));
  const std::span<const std::byte> bytes(buffer);
  JITSCOPE_TRY(check_magic(bytes.first(std::min(have, kMagic.size())), where));
  ByteCursor size_cursor(bytes.first(have));
  size_cursor.skip(kMagic.size());
  const uint64_t size = size_cursor.u64();
  if (!size_cursor.ok()) return fail(size_cursor.error("header of perf.data", where));
  FileHeader header;
  header.pipe = size == kPipeHeaderSize;
  if (header.pipe) return header;

  JITSCOPE_TRY(fill(kFileHeaderSize));
  ByteCursor cursor(bytes.first(have));
  cursor.skip(kPipeHeaderSize);
  header.attr_size = cursor.u64();
  header.attrs = section(cursor);
  header.data = section(cursor);
  cursor.skip(16);  // event types, which no perf has written since 2012
  if (size >= kFileHeaderSize) {
    for (uint64_t& word : header.features) word = cursor.u64();
  }
  if (!cursor.ok()) return fail(cursor.error("header of perf.data", where));
  if (header.attr_size < kSmallestAttr + 2 * kWord) {
    return fail(ErrorKind::damaged,
                fmt::format("the header says that event attributes have {} bytes, the smallest "
                            "there are have {}",
                            header.attr_size, kSmallestAttr + 2 * kWord),
                where);
  }
  if (header.attrs.size < header.attr_size) {
    return fail(ErrorKind::damaged, "has no event attributes", where);
  }
  return header;
}

Status read_events(Input& input, const FileHeader& header, Gatherer& gatherer) {
  JITSCOPE_ASSIGN(const std::vector<std::byte> attrs,
                  input.range(header.attrs.offset, header.attrs.size));
  ByteCursor cursor(attrs);
  if (header.attr_size > attrs.size()) {
    return fail(ErrorKind::damaged, "ends before its event attributes", input.where());
  }
  while (cursor.remaining() >= header.attr_size) {
    ByteCursor entry = cursor.slice(header.attr_size);
    const std::span<const std::byte> attr = entry.bytes(header.attr_size - 2 * kWord);
    const FileHeader::Section ids = section(entry);
    JITSCOPE_ASSIGN(const std::vector<std::byte> id_bytes,
                    input.range(ids.offset, std::min(ids.size, gatherer.ids_left() * kWord)));
    auto added = gatherer.add_event(attr, id_bytes);
    if (!added) return fail(std::move(added.error()).at(input.where()));
  }
  return {};
}

Status read_features(Input& input, const FileHeader& header, Gatherer& gatherer,
                     Diagnostics& diagnostics) {
  const auto table = checked_add(header.data.offset, header.data.size);
  if (!table) return {};
  JITSCOPE_ASSIGN(const std::vector<std::byte> entries,
                  input.range(*table, kFeatureBits * 2 * kWord));
  ByteCursor cursor(entries);
  for (uint64_t feature = 0; feature < kFeatureBits; ++feature) {
    if (((header.features[feature / 64] >> (feature % 64)) & 1U) == 0) continue;
    const FileHeader::Section where = section(cursor);
    if (!cursor.ok()) {
      diagnostics.note("perf.data cut short", "its table of features");
      return {};
    }
    if (!gatherer.wants(feature) || where.size == 0) continue;
    JITSCOPE_ASSIGN(const std::vector<std::byte> bytes, input.range(where.offset, where.size));
    if (bytes.size() < where.size) diagnostics.note("perf.data cut short", "a feature section");
    gatherer.add_feature(feature, bytes);
  }
  return {};
}

}  // namespace jitscope::perfdata
