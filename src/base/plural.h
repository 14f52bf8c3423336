// plural: "1 body", "2 bodies", "3 looks".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace jitscope {

// `many` is for nouns that do not just take an s.
[[nodiscard]] inline std::string plural(uint64_t count, std::string_view noun,
                                        std::string_view many = {}) {
  if (count == 1) return fmt::format("1 {}", noun);
  return many.empty() ? fmt::format("{} {}s", count, noun) : fmt::format("{} {}", count, many);
}

}  // namespace jitscope
