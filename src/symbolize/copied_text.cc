// Finding text that was moved; see copied_text.h. Relies on /proc/PID/map_files for the file that
// is really mapped.
#include "symbolize/copied_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/page.h"
#include "process/mapped_identity.h"
#include "process/process.h"
#include "symbolize/elf_file.h"

namespace jitscope {
namespace {

constexpr uint64_t kChunk = 256 * kPage;
// No text is larger.
constexpr uint64_t kMostBytes = 1ULL << 30U;

uint64_t page_floor(uint64_t value) {
  return value & ~(kPage - 1);
}

bool is_anonymous_code(const Mapping& mapping) {
  return mapping.executable && mapping.readable && mapping.inode == 0 &&
         (mapping.path.empty() || mapping.path.starts_with("[anon"));
}

// Code of a file at an address: where it would be mapped from.
struct Place {
  uint64_t start = 0;
  uint64_t end = 0;     // of the code's bytes
  uint64_t offset = 0;  // in the file, of `start`
};

// Which part of `anonymous` the file's code belongs to, by where `known` of the file lies.
std::optional<Place> place_of(const ElfFile& file, const Mapping& known, const Mapping& anonymous) {
  std::optional<uint64_t> bias;
  for (const ElfFile::Segment& segment : file.segments()) {
    if (known.offset < page_floor(segment.offset) ||
        known.offset >= segment.offset + segment.file_size) {
      continue;
    }
    bias = known.start - known.offset + segment.offset - segment.address;
    break;
  }
  if (!bias) return std::nullopt;
  for (const ElfFile::Segment& segment : file.segments()) {
    if (!segment.executable || segment.file_size == 0) continue;
    const uint64_t code = *bias + segment.address;
    Place place;
    place.start = std::max(page_floor(code), anonymous.start);
    place.end = std::min(code + segment.file_size, anonymous.end);
    place.offset = segment.offset + (place.start - code);
    if (place.start < place.end && place.end - place.start <= kMostBytes) return place;
  }
  return std::nullopt;
}

// Runs of pages that hold what the file has.
struct Compared {
  std::vector<Place> runs;
  uint64_t pages = 0;
  uint64_t equal = 0;
};

void add_page(Compared& found, uint64_t start, uint64_t end, uint64_t offset, bool equal) {
  ++found.pages;
  if (!equal) return;
  ++found.equal;
  if (!found.runs.empty() && found.runs.back().end == start) {
    found.runs.back().end = end;
  } else {
    found.runs.push_back({start, end, offset});
  }
}

Compared compare(const ElfFile& file, ProcessMemory& memory, const Place& place) {
  Compared found;
  std::vector<std::byte> theirs(kChunk);
  std::vector<std::byte> ours(kChunk);
  for (uint64_t at = place.start; at < place.end; at += kChunk) {
    const size_t size = std::min(kChunk, place.end - at);
    const uint64_t offset = place.offset + (at - place.start);
    const ssize_t got = ::pread(file.fd(), ours.data(), size, static_cast<off_t>(offset));
    if (got != static_cast<ssize_t>(size)) break;
    if (!memory.read(at, std::span(theirs).first(size))) break;
    for (size_t page = 0; page < size; page += kPage) {
      const size_t bytes = std::min(kPage, size - page);
      add_page(found, at + page, at + page + bytes, offset + page,
               std::memcmp(theirs.data() + page, ours.data() + page, bytes) == 0);
    }
  }
  return found;
}

std::unique_ptr<ElfFile> open_mapped(pid_t pid, const Mapping& mapping) {
  UniqueFd fd(::open(mapping.map_files_path(pid).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return nullptr;
  auto file = ElfFile::from_fd(std::move(fd), mapping.path);
  return file ? std::move(*file) : nullptr;
}

void look_beside(pid_t pid, const Mapping& known, const Mapping& anonymous,
                 std::vector<Mapping>& found) {
  const auto file = open_mapped(pid, known);
  if (file == nullptr) return;
  const auto place = place_of(*file, known, anonymous);
  if (!place) return;
  ProcessMemory memory(pid);
  const Compared compared = compare(*file, memory, *place);
  if (compared.equal == 0 || compared.equal * 10 < compared.pages * 9) return;
  for (const Place& run : compared.runs) {
    Mapping mapping = known;
    mapping.start = run.start;
    mapping.end = (run.end + kPage - 1) & ~(kPage - 1);
    mapping.offset = run.offset;
    mapping.readable = mapping.executable = true;
    mapping.writable = anonymous.writable;
    found.push_back(std::move(mapping));
  }
}

}  // namespace

std::vector<Mapping> find_copied_text(pid_t pid, const std::vector<Mapping>& maps) {
  std::vector<Mapping> found;
  const Mapping* before = nullptr;  // the last mapping of a file
  for (size_t i = 0; i < maps.size(); ++i) {
    const Mapping& mapping = maps[i];
    if (mapping.file_backed()) before = &mapping;
    if (!is_anonymous_code(mapping)) continue;
    const auto after = std::find_if(maps.begin() + static_cast<ptrdiff_t>(i), maps.end(),
                                    [](const Mapping& each) { return each.file_backed(); });
    // A program's code lies between its other parts; the first part may be what was moved.
    if (after == maps.end()) continue;
    const bool between = before != nullptr && same_file(*before, *after);
    if (!between && after->start != mapping.end) continue;
    look_beside(pid, *after, mapping, found);
  }
  return found;
}

}  // namespace jitscope
