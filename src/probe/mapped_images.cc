#include "probe/mapped_images.h"

#include <fcntl.h>

#include <algorithm>

#include "live_image/relocate.h"
#include "probe/image_lock.h"
#include "process/mapped_identity.h"

namespace jitscope {
namespace {

constexpr uint64_t most_bytes_to_parse = 64U << 20U;
constexpr uint64_t table_step = 16 * live_image_page;

// map_files needs rights over the whole machine; else the path, where it leads to the same file.
UniqueFd open_mapped(const Process& process, const Mapping& mapping) {
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd fd(
      ::open(mapping.map_files_path(process.pid()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd || mapping.deleted || process.other_mount_namespace()) return fd;
  fd = UniqueFd(::open(mapping.path.c_str(), flags));
  if (!fd) return fd;
  const auto identity = identity_of_file(fd.get());
  return identity && *identity == identity_of(mapping) ? std::move(fd) : UniqueFd();
}

bool may_be_image(const Process& process, const Mapping& mapping) {
  if (!mapping.file_backed() || !mapping.executable || mapping.writable || mapping.shared ||
      mapping.offset != 0 || mapping.size() < live_image_page) {
    return false;
  }
  // By content, not by name alone: a deleted or renamed image is recognised too.
  Bytes page(live_image_page);
  return process.memory().read(mapping.start, page) && looks_like_live_image(page);
}

// An image grows: its mappings may have become one for the kernel, or not.
uint64_t length_of(const std::vector<Mapping>& maps, size_t first) {
  const MappedIdentity file = identity_of(maps[first]);
  uint64_t end = maps[first].end;
  for (size_t i = first + 1; i < maps.size(); ++i) {
    const Mapping& next = maps[i];
    if (next.start != end || identity_of(next) != file || next.offset != end - maps[first].start) {
      break;
    }
    end = next.end;
  }
  return end - maps[first].start;
}

}  // namespace

std::vector<MappedImage> find_mapped_images(const Process& process,
                                            const std::vector<Mapping>& maps) {
  std::vector<MappedImage> found;
  for (size_t i = 0; i < maps.size(); ++i) {
    if (!may_be_image(process, maps[i])) continue;
    found.push_back({maps[i], length_of(maps, i), open_mapped(process, maps[i])});
  }
  return found;
}

Result<ParsedImage> read_mapped_image(const Process& process, const MappedImage& mapped) {
  Bytes bytes(live_image_page);
  JITSCOPE_TRY(process.memory().read(mapped.address(), bytes));
  const uint64_t wanted = live_image_bytes_to_parse(bytes);
  // The target decides how large the mapping is.
  if (wanted <= bytes.size() || wanted > std::min(mapped.length, most_bytes_to_parse)) {
    return parse_live_image(bytes);  // says what is wrong
  }
  bytes.resize(wanted);
  // Not further than the table is used: what nobody wrote to should not become memory.
  for (uint64_t at = live_image_page; at < wanted; at += table_step) {
    const auto part = std::span(bytes).subspan(at, std::min(table_step, wanted - at));
    JITSCOPE_TRY(process.memory().read(mapped.address() + at, part));
    if (!live_image_table_goes_on(part)) break;
  }
  return parse_live_image(bytes);
}

std::vector<Patch> jumps_in_place(const Process& process, uint64_t base, const ParsedImage& image,
                                  size_t& not_ours) {
  std::vector<Patch> jumps;
  Bytes seen(image.records.size() * jump_length);
  std::vector<MemoryReader::Range> ranges;
  for (const ImageRecord& record : image.records) {
    const auto out = std::span(seen).subspan(ranges.size() * jump_length, jump_length);
    ranges.push_back({record.entry, out, false});
  }
  process.memory().read_many(ranges);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ImageRecord& record = image.records[i];
    auto jump = encode_jump(record.entry, base + record.slot_offset);
    if (!ranges[i].ok || !jump || record.original_length < jump_length ||
        !std::ranges::equal(ranges[i].out, *jump)) {
      ++not_ours;
      continue;
    }
    Patch patch;
    patch.address = record.entry;
    patch.expected = std::move(*jump);
    patch.replacement.assign(record.original, record.original + jump_length);
    jumps.push_back(std::move(patch));
  }
  return jumps;
}

bool is_in_use(const MappedImage& mapped) {
  return mapped.file && image_is_held(mapped.file.get());
}

}  // namespace jitscope
