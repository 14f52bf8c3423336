// Parses /proc/PID/maps and finds free address ranges in it.
#include "process/maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "base/page.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

constexpr uint64_t kAddressEnd = 0x7ffffffff000;  // TASK_SIZE_MAX with four-level page tables
// A displacement counts from the end of its instruction, so a little less than 2 GiB is usable.
constexpr uint64_t kReach = 0x7fffffff - 64;
// What the heap (upwards) and the main stack (downwards) may still grow into.
constexpr uint64_t kHeapReserve = 256ULL << 20U;
constexpr uint64_t kStackReserve = 16ULL << 20U;

std::string_view next_word(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t end = std::min(line.find(' ', begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

std::optional<std::pair<uint64_t, uint64_t>> parse_pair(std::string_view word, char separator) {
  const size_t at = word.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const auto first = parse_hex(word.substr(0, at));
  const auto second = parse_hex(word.substr(at + 1));
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

// One line, "start-end rwxp offset major:minor inode    path". The kernel writes a line end in a
// path as \012 and leaves a backslash as it is; the path is kept as written.
std::optional<Mapping> parse_line(std::string_view line) {
  const auto range = parse_pair(next_word(line), '-');
  const std::string_view permissions = next_word(line);
  const auto offset = parse_hex(next_word(line));
  const auto device = parse_pair(next_word(line), ':');
  const auto inode = parse_decimal(next_word(line));
  if (!range || range->first >= range->second || permissions.size() < 4 || !offset || !device ||
      !inode || device->first > UINT32_MAX || device->second > UINT32_MAX) {
    return std::nullopt;
  }
  Mapping mapping;
  mapping.start = range->first;
  mapping.end = range->second;
  mapping.offset = *offset;
  mapping.inode = *inode;
  mapping.dev_major = static_cast<uint32_t>(device->first);
  mapping.dev_minor = static_cast<uint32_t>(device->second);
  mapping.readable = permissions[0] == 'r';
  mapping.writable = permissions[1] == 'w';
  mapping.executable = permissions[2] == 'x';
  mapping.shared = permissions[3] == 's';
  std::string_view path = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.starts_with('/') && path.ends_with(kDeleted)) {
    mapping.deleted = true;
    path.remove_suffix(kDeleted.size());
  }
  mapping.path = path;
  return mapping;
}

uint64_t lowest_address() {
  static const uint64_t lowest = [] {
    uint64_t value = 0x10000;
    if (const auto text = read_text_file("/proc/sys/vm/mmap_min_addr", 64)) {
      const size_t end = std::min(text->find('\n'), text->size());
      value = std::max(value, parse_decimal(std::string_view(*text).substr(0, end)).value_or(0));
    }
    return (value + kPage - 1) / kPage * kPage;
  }();
  return lowest;
}

// What a mapping takes, with the room it may still grow into.
std::pair<uint64_t, uint64_t> taken(const Mapping& mapping, bool reserve) {
  uint64_t start = std::min(mapping.start, kAddressEnd);
  uint64_t end = std::min(mapping.end, kAddressEnd);
  if (reserve && mapping.path == "[stack]") start -= std::min(start, kStackReserve);
  if (reserve && mapping.path == "[heap]") end = std::min(end + kHeapReserve, kAddressEnd);
  return {start, end};
}

// The place in the free range [begin, end) that is nearest to [low, high), both ends page-aligned.
struct Place {
  uint64_t address = 0;
  uint64_t distance = UINT64_MAX;
};
void consider(Place& best, uint64_t begin, uint64_t end, uint64_t length, uint64_t low,
              uint64_t high) {
  if (begin >= end || end - begin < length) return;
  Place place;
  if (begin >= low) {  // above (or, where nothing is mapped, within): the lowest page of it
    place = {begin, begin >= high ? begin - high : 0};
  } else if (end <= high) {
    place = {end - length, end <= low ? low - end : 0};
  } else {  // the range spans [low, high), which is not mapped at all
    place = {std::clamp(low / kPage * kPage, begin, end - length), 0};
  }
  if (place.distance < best.distance) best = place;
}

uint64_t search_gap(const std::vector<Mapping>& maps, uint64_t low, uint64_t high, uint64_t length,
                    bool reserve) {
  const uint64_t from =
      std::max(lowest_address(), high > kReach ? (high - kReach + kPage - 1) / kPage * kPage : 0);
  const uint64_t to = std::min(kAddressEnd, (low + kReach) / kPage * kPage);
  Place best;
  uint64_t free_from = from;
  for (const Mapping& mapping : maps) {
    const auto [start, end] = taken(mapping, reserve);
    consider(best, free_from, std::min(start, to), length, low, high);
    free_from = std::max(free_from, end);
  }
  consider(best, free_from, to, length, low, high);
  return best.address;
}

}  // namespace

std::string Mapping::map_files_path(pid_t pid) const {
  return fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, start, end);
}

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> maps;
  ByteCursor cursor(text);
  while (!cursor.at_end()) {
    if (auto mapping = parse_line(cursor.line())) maps.push_back(std::move(*mapping));
  }
  // The kernel lists them in order; a file that somebody kept may not.
  std::ranges::sort(maps, {}, &Mapping::start);
  return maps;
}

Result<std::vector<Mapping>> read_maps(pid_t pid) {
  const std::string path = task_path(pid, "maps");
  auto text = read_text_file(path);
  if (!text) {
    const int code = text.error().system_errno;
    if (code == EACCES || code == EPERM) {
      return fail(permission_error("reading the mappings", pid, code).at(path));
    }
    if (code == ENOENT || code == ESRCH) {
      return fail(ErrorKind::target_gone, fmt::format("process {} is gone", pid), path);
    }
    return fail(std::move(text.error()));
  }
  return parse_maps(*text);
}

const Mapping* find_mapping(const std::vector<Mapping>& maps, uint64_t address) {
  auto it = std::ranges::upper_bound(maps, address, {}, &Mapping::start);
  if (it == maps.begin()) return nullptr;
  --it;
  return it->contains(address) ? &*it : nullptr;
}

uint64_t find_gap_near(const std::vector<Mapping>& maps, uint64_t low, uint64_t high,
                       uint64_t length) {
  if (low >= high || high > kAddressEnd || length == 0 || length > kReach || high - low > kReach) {
    return 0;
  }
  const uint64_t pages = (length + kPage - 1) / kPage * kPage;
  // First without the room of heap and stack; a crowded address space may leave nothing else.
  const uint64_t place = search_gap(maps, low, high, pages, true);
  return place != 0 ? place : search_gap(maps, low, high, pages, false);
}

bool within_reach(uint64_t address, uint64_t length, uint64_t low, uint64_t high) {
  if (low >= high || high > kAddressEnd || length > kReach || address > kAddressEnd) return false;
  const uint64_t begin = std::min(address, low);
  return std::max(address + length, high) - begin <= kReach;
}

}  // namespace jitscope
