// What must hold for any text taken as /proc/kallsyms: every symbol is found by its name, and what
// is found at an address holds it. Shared by the fuzz target and by the test that replays its
// corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/byte_cursor.h"
#include "symbolize/kernel_symbols.h"

namespace jitscope::fuzz {

inline std::string_view check_kallsyms(std::span<const std::byte> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto symbols = KernelSymbols::parse(text);
  if (!symbols) {
    return symbols.error().what.empty() ? "refused without a reason" : std::string_view{};
  }
  size_t asked = 0;
  for (size_t at = 0; at < text.size() && asked < 64; at = text.find('\n', at) + 1, ++asked) {
    const auto address = parse_hex(text.substr(at, text.find(' ', at) - at)).value_or(0);
    for (const uint64_t near : {address, address - 1, address + 4095}) {
      const auto hit = (*symbols)->at(near);
      if (!hit) continue;
      if (near < hit->start || near - hit->start >= hit->size) return "not in its symbol";
      if (hit->name.empty()) return "a symbol without a name";
      if (!(*symbols)->address_of(hit->name)) return "a name that is not known";
    }
    if (text.find('\n', at) == text.npos) break;
  }
  return {};
}

}  // namespace jitscope::fuzz
