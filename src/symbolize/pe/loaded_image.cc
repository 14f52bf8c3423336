// See loaded_image.h.
#include "symbolize/pe/loaded_image.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/byte_cursor.h"
#include "base/page.h"
#include "symbolize/pe/read_part.h"

namespace jitscope {
namespace {

// Nothing when the bytes are no 64-bit ELF file's beginning.
std::optional<std::vector<FileSpan>> elf_loads(std::span<const std::byte> head) {
  constexpr uint32_t magic = 0x464c457f;
  constexpr uint8_t wide = 2;
  constexpr uint32_t load = 1;
  ByteCursor cursor(head);
  if (cursor.u32() != magic || cursor.u8() != wide) return std::nullopt;
  cursor.seek(32);
  const uint64_t table = cursor.u64();
  cursor.seek(54);
  const uint16_t size = cursor.u16();
  const uint16_t count = cursor.u16();
  std::vector<FileSpan> loads;
  for (uint64_t i = 0; i < count && cursor.ok(); ++i) {
    cursor.seek(table + i * size);
    const uint32_t type = cursor.u32();
    cursor.skip(4);
    const uint64_t offset = cursor.u64();
    cursor.skip(16);
    const uint64_t in_file = cursor.u64();
    if (cursor.ok() && type == load) loads.push_back({offset, in_file});
  }
  if (!cursor.ok()) return std::nullopt;
  return loads;
}

}  // namespace

bool ImageHost::loads_as_elf(uint64_t offset) const {
  return std::ranges::any_of(loads, [&](const FileSpan& each) { return each.holds(offset); });
}

std::optional<ImageHost> image_host(int fd) {
  std::array<std::byte, 4096> head{};
  const auto bytes = std::span<const std::byte>(head).first(read_part(fd, 0, head));
  if (bytes.size() <= 2) return std::nullopt;
  ImageHost out;
  out.is_image = bytes[0] == std::byte{'M'} && bytes[1] == std::byte{'Z'};
  if (out.is_image) return out;
  auto loads = elf_loads(bytes);
  if (!loads) return std::nullopt;
  out.loads = std::move(*loads);
  return out;
}

bool is_flat_view(const PeHeaders& headers, uint64_t length) {
  const uint64_t header_pages = (headers.size_of_headers + kPage - 1) & ~(kPage - 1);
  return std::ranges::any_of(headers.sections, [&](const PeSection& each) {
    return each.file_size != 0 && each.file_offset >= header_pages && each.file_offset < length &&
           each.file_offset != each.rva;
  });
}

}  // namespace jitscope
