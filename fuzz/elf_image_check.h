// What must hold for any bytes taken as an ELF image: answers lie where they were asked for, names
// are bounded, and asking ends. Shared by the fuzz target and by the test that replays its corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "symbolize/elf_image.h"

namespace jitscope::fuzz {

inline std::string_view check_elf_image(std::span<const std::byte> input) {
  ElfImageOptions options;
  options.debug_directories.clear();
  const auto image = ElfImage::from_memory({input.begin(), input.end()}, "fuzz", options);
  if (!image) return image.error().what.empty() ? "refused without a reason" : std::string_view{};
  const auto check = [&](uint64_t address) -> std::string_view {
    if (const auto hit = (*image)->symbol_at(address)) {
      if (address < hit->start || address - hit->start >= hit->size) return "not in its symbol";
      if (hit->raw.empty()) return "a symbol without a name";
      if (hit->raw.size() > (1U << 16U) + 4 || hit->name.size() > (1U << 18U) + 4) {
        return "a name without a bound";
      }
    }
    if ((*image)->source_frames(address).size() > 258) return "frames without a bound";
    return {};
  };
  for (uint64_t offset = 0; offset < input.size() + 64; offset += 1 + input.size() / 64) {
    const auto address = (*image)->address_of_offset(offset);
    if (!address) continue;
    if (const auto wrong = check(*address); !wrong.empty()) return wrong;
  }
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x401000}, uint64_t{1} << 63U, UINT64_MAX}) {
    if (const auto wrong = check(address); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace jitscope::fuzz
