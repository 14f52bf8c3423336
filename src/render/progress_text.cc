#include "render/progress_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace jitscope {
namespace {

std::string megabytes(double bytes) {
  const double mega = bytes / 1e6;
  return mega < 9.95 ? fmt::format("{:.1f} MB", mega) : fmt::format("{:.0f} MB", mega);
}

std::string duration(double seconds) {
  constexpr double minute = 60;
  constexpr double hour = 60 * minute;
  if (seconds < 2 * minute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{:.0f} min", seconds / minute);
  return fmt::format("{:.0f} h", seconds / hour);
}

}  // namespace

std::string progress_text(std::string_view what, const WorkDone& done) {
  const double seconds = std::chrono::duration<double>(done.time).count();
  const auto bytes = static_cast<double>(done.bytes);
  if (done.bytes == 0) return fmt::format("{}: {}", what, duration(seconds));
  if (done.whole != 0 && done.bytes >= done.whole) {
    return fmt::format("{}: all of {} read, {} so far", what,
                       megabytes(static_cast<double>(done.whole)), duration(seconds));
  }
  const double rate = bytes / std::max(seconds, 1e-3);
  if (done.whole == 0) return fmt::format("{}: {}, {}/s", what, megabytes(bytes), megabytes(rate));
  const auto whole = static_cast<double>(done.whole);
  return fmt::format("{}: {:.0f} % of {}, {}/s, {} left", what, 100 * bytes / whole,
                     megabytes(whole), megabytes(rate), duration((whole - bytes) / rate));
}

}  // namespace jitscope
