// Finds room for a stub at the end of executable mappings.
#include "surgery/padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_cursor.h"
#include "base/page.h"
#include "process/mapped_identity.h"
#include "surgery/stub.h"

namespace jitscope {
namespace {

// Zeros right behind the last byte that is not zero may still be part of it: the end of an
// instruction's constant, or of a table.
constexpr uint64_t kMargin = 64;
constexpr uint64_t kAlignment = 32;

std::string_view file_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_live_image(std::string_view name) {
  constexpr std::string_view kMemfd = "memfd:";
  if (name.starts_with(kMemfd)) name.remove_prefix(kMemfd.size());
  return name.starts_with("jitscope-");
}

bool is_libc(std::string_view name) {
  return name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("ld-musl");
}

// The mapping of the file's beginning has the ELF magic.
bool is_elf(const Process& process, const std::vector<Mapping>& maps, const Mapping& code) {
  for (const Mapping& mapping : maps) {
    if (!same_file(mapping, code) || mapping.offset != 0 || !mapping.readable) {
      continue;
    }
    std::array<std::byte, 4> magic{};
    return process.memory().read(mapping.start, magic).has_value() && std::memcmp(magic.data(),
                                                                                  "\x7f"
                                                                                  "ELF",
                                                                                  4) == 0;
  }
  return false;
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

std::optional<Padding> padding_in_page(std::span<const std::byte> page, uint64_t end) {
  const auto magic = std::as_bytes(std::span(kStubMagic));
  Padding padding;
  const auto found = std::ranges::search(page, magic);
  if (!found.empty()) {
    const auto at = static_cast<size_t>(found.begin() - page.begin());
    ByteCursor cursor(page.subspan(at));
    cursor.skip(kStubSizeAt);
    const uint32_t size = cursor.u32();
    if (!cursor.ok() || size < kStubEntry || size > page.size() - at || at < kMargin ||
        !all_zero(page.subspan(at - kMargin + kAlignment, kMargin - kAlignment)) ||
        !all_zero(page.subspan(at + size))) {
      return std::nullopt;
    }
    padding.leftover = size;
    padding.address = end - page.size() + at;
    padding.size = page.size() - at;
    return padding;
  }
  size_t last = page.size();
  while (last > 0 && page[last - 1] == std::byte{0}) --last;
  const size_t at = (last + kMargin + kAlignment - 1) / kAlignment * kAlignment;
  if (at >= page.size()) return std::nullopt;
  padding.address = end - page.size() + at;
  padding.size = page.size() - at;
  return padding;
}

Result<std::vector<Padding>> find_padding(const Process& process, const std::vector<Mapping>& maps,
                                          uint64_t needed) {
  std::vector<Padding> places;
  uint64_t largest = 0;
  for (const Mapping& mapping : maps) {
    const std::string_view name = file_name(mapping.path);
    if (!mapping.executable || !mapping.readable || mapping.writable || mapping.shared ||
        !mapping.file_backed() || !mapping.path.starts_with('/') || is_live_image(name)) {
      continue;
    }
    std::array<std::byte, kPage> page{};
    if (!process.memory().read(mapping.end - kPage, page)) continue;
    auto place = padding_in_page(page, mapping.end);
    if (!place || !is_elf(process, maps, mapping)) continue;
    largest = std::max(largest, place->size);
    if (place->size < needed) continue;
    place->path = mapping.path;
    places.push_back(std::move(*place));
  }
  if (places.empty()) {
    return fail(ErrorKind::not_possible,
                fmt::format("no room for {} bytes of code behind the program's own (largest: {})",
                            needed, largest),
                fmt::format("pid {}", process.pid()),
                "a shorter path to the file may fit; no ELF file of the target has enough padding");
  }
  std::ranges::sort(places, {}, [](const Padding& place) {
    return std::pair(!is_libc(file_name(place.path)), place.address);
  });
  return places;
}

bool padding_unchanged(const Process& process, const Padding& padding) {
  const uint64_t end = padding.address + padding.size;
  std::array<std::byte, kPage> page{};
  if (!process.memory().read(end - kPage, page)) return false;
  const auto now = padding_in_page(page, end);
  return now && now->address == padding.address && now->leftover == padding.leftover;
}

}  // namespace jitscope
