// Durations as users write them: "10s", "500ms", "2m", "1.5h"; a bare number is seconds.
#pragma once

#include <optional>
#include <string_view>

namespace jitscope {

// In seconds; nullopt when it is none, or not above 0 and below thirty years.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);

}  // namespace jitscope
