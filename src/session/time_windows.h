// TimeWindows: the spans of time of `--time`, with the meaning that perf gives them.
//
//   FROM,TO        seconds[.fraction] of the recording's clock; either may be missing
//   F,T F,T        several, with blanks between them
//   10%-20%        of the time between the first and the last sample; several with commas
//   10%/2          the second tenth; `10%` alone is the first one
//
// Both ends belong to a window.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jitscope {

class TimeWindows {
 public:
  static Result<TimeWindows> parse(std::string_view text);

  [[nodiscard]] bool empty() const { return windows_.empty() && shares_.empty(); }
  // Percentages, which settle() makes times of.
  [[nodiscard]] bool relative() const { return !shares_.empty(); }
  void settle(uint64_t first, uint64_t last);
  // What has no time lies in each window.
  [[nodiscard]] bool holds(uint64_t time) const;

 private:
  struct Window {
    uint64_t from = 0;
    uint64_t to = UINT64_MAX;
  };
  struct Share {
    double from = 0;
    double to = 0;
  };
  static Result<Window> parse_window(std::string_view text);
  static std::optional<Share> parse_share(std::string_view text);

  std::vector<Window> windows_;
  std::vector<Share> shares_;
};

}  // namespace jitscope
