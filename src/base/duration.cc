#include "base/duration.h"

#include <array>
#include <charconv>
#include <utility>

namespace jitscope {

std::optional<double> parse_duration(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 7> units = {
      {{"", 1}, {"s", 1}, {"sec", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"h", 3600}}};
  double number = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit(rest, text.data() + text.size());
  for (const auto& [name, seconds] : units) {
    if (unit != name) continue;
    const double whole = number * seconds;
    constexpr double most = 1e9;
    // Also false for what is no number.
    return whole > 0 && whole < most ? std::optional(whole) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace jitscope
