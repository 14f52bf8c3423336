#include "session/time_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kDigits = 9;  // of a fraction
constexpr std::string_view kForms =
    "FROM,TO in seconds as `jitscope script` prints them (\"12.5,13\", \"12.5,\", \",13\"), "
    "or shares of the recording (\"10%-20%\", \"10%/2\")";

// Takes the text up to the separator out of `rest`.
std::string_view take_word(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

// Nanoseconds of "seconds[.fraction]".
std::optional<uint64_t> parse_time(std::string_view text) {
  const size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  std::string fraction(point == text.size() ? "" : text.substr(point + 1));
  if (fraction.size() > kDigits || (whole.empty() && fraction.empty())) return std::nullopt;
  fraction.resize(kDigits, '0');
  const auto seconds = whole.empty() ? std::optional<uint64_t>(0) : parse_decimal(whole);
  const auto nanoseconds = parse_decimal(fraction);
  if (!seconds || !nanoseconds || *seconds > UINT64_MAX / kSecond - 1) return std::nullopt;
  return *seconds * kSecond + *nanoseconds;
}

// A part of one of "12.5%".
std::optional<double> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  constexpr double hundred = 100;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= 0 && value <= hundred)) return std::nullopt;  // NaN neither
  return value / hundred;
}

}  // namespace

Result<TimeWindows::Window> TimeWindows::parse_window(std::string_view text) {
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos) {
    return fail(ErrorKind::usage, "--time wants two times with a comma", std::string(text),
                std::string(kForms));
  }
  const std::string_view from_text = text.substr(0, comma);
  const std::string_view to_text = text.substr(comma + 1);
  const auto from = from_text.empty() ? std::optional<uint64_t>(0) : parse_time(from_text);
  const auto to = to_text.empty() ? std::optional<uint64_t>(UINT64_MAX) : parse_time(to_text);
  if (!from || !to) {
    return fail(ErrorKind::usage, "--time: that is no time",
                std::string(from ? to_text : from_text), std::string(kForms));
  }
  if (*from > *to) {
    return fail(ErrorKind::usage, "--time ends before it begins", std::string(text),
                std::string(kForms));
  }
  return Window{*from, *to};
}

std::optional<TimeWindows::Share> TimeWindows::parse_share(std::string_view text) {
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto part = parse_percent(text.substr(0, slash));
    const auto number = parse_decimal(text.substr(slash + 1));
    if (!part || *part <= 0 || !number || *number == 0) return std::nullopt;
    const double from = *part * static_cast<double>(*number - 1);
    const double to = *part * static_cast<double>(*number);
    return to <= 1 ? std::optional(Share{from, to}) : std::nullopt;
  }
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    const auto to = parse_percent(text);
    return to ? std::optional(Share{0, *to}) : std::nullopt;
  }
  const auto from = parse_percent(text.substr(0, dash));
  const auto to = parse_percent(text.substr(dash + 1));
  return from && to && *from <= *to ? std::optional(Share{*from, *to}) : std::nullopt;
}

Result<TimeWindows> TimeWindows::parse(std::string_view text) {
  TimeWindows result;
  const bool shares = text.contains('%');
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view word = take_word(rest, shares ? ',' : ' ');
    if (shares) {
      const auto share = parse_share(word);
      if (!share) {
        return fail(ErrorKind::usage, "--time: that is no share of a recording", std::string(word),
                    std::string(kForms));
      }
      result.shares_.push_back(*share);
    } else if (!word.empty()) {
      JITSCOPE_ASSIGN(const Window window, parse_window(word));
      result.windows_.push_back(window);
    }
  }
  if (result.empty()) {
    return fail(ErrorKind::usage, "--time is empty", {}, std::string(kForms));
  }
  return result;
}

void TimeWindows::settle(uint64_t first, uint64_t last) {
  const uint64_t whole = last - std::min(first, last);
  for (const Share& share : shares_) {
    const auto at = [&](double part) {
      return first + static_cast<uint64_t>(std::llround(part * static_cast<double>(whole)));
    };
    Window window{at(share.from), at(share.to)};
    // The next slice begins there.
    if (window.to > window.from && window.to != last) --window.to;
    windows_.push_back(window);
  }
  shares_.clear();
}

bool TimeWindows::holds(uint64_t time) const {
  if (time == 0 || windows_.empty()) return true;
  return std::ranges::any_of(
      windows_, [&](const Window& window) { return time >= window.from && time <= window.to; });
}

}  // namespace jitscope
