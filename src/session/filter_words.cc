#include "session/filter_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

std::optional<uint32_t> parse_number(std::string_view text) {
  const auto number = parse_decimal(text);
  // The last one is "none" in recordings.
  return number && *number < UINT32_MAX ? std::optional(static_cast<uint32_t>(*number))
                                        : std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> parse_name_list(std::string_view option, std::string_view text) {
  std::vector<std::string> names(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      names.emplace_back();
      continue;
    }
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') ++i;
    names.back() += text[i];
  }
  if (std::ranges::any_of(names, &std::string::empty)) {
    return fail(ErrorKind::usage, fmt::format("{} has an empty name", option), std::string(text),
                "names with commas between them; a comma that belongs to a name is \\,");
  }
  return names;
}

Result<std::vector<NumberRange>> parse_number_list(std::string_view option, std::string_view text,
                                                   bool ranges) {
  std::vector<NumberRange> result;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    const size_t dash = ranges ? word.find('-') : std::string_view::npos;
    const auto first = parse_number(word.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(word.substr(dash + 1));
    if (!first || !last || *first > *last) {
      return fail(ErrorKind::usage,
                  fmt::format("{} wants {}", option, ranges ? "numbers and ranges" : "numbers"),
                  std::string(word), ranges ? "as in 0-3,5" : "as in 4711,4712");
    }
    result.push_back({*first, *last});
    if (comma == text.size()) return result;
    text.remove_prefix(comma + 1);
  }
}

void settle_ranges(std::vector<NumberRange>& ranges) {
  std::ranges::sort(ranges, {}, &NumberRange::first);
  size_t kept = 0;
  for (const NumberRange& range : ranges) {
    if (kept != 0 && range.first <= uint64_t{ranges[kept - 1].last} + 1) {
      ranges[kept - 1].last = std::max(ranges[kept - 1].last, range.last);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

bool holds(const std::vector<NumberRange>& ranges, uint32_t number) {
  const auto next = std::ranges::upper_bound(ranges, number, {}, &NumberRange::first);
  return next != ranges.begin() && number <= std::prev(next)->last;
}

}  // namespace jitscope
