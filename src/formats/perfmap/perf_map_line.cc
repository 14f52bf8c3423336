// See perf_map_line.h. Nearly all lines have the plain form `hex hex name`, which is taken first
// and fast; whatever departs from it goes the way that knows all forms.
#include "formats/perfmap/perf_map_line.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

// The characters up to the next blank, which stays.
std::string_view take_word(std::string_view& text) {
  const auto end = std::ranges::find_if(text, is_blank);
  const std::string_view word = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

constexpr uint8_t kNoDigit = 0xff;
constexpr std::array<uint8_t, 256> kDigits = [] {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (uint8_t i = 0; i < 10; ++i) digits['0' + i] = i;
  for (uint8_t i = 0; i < 6; ++i) digits['a' + i] = digits['A' + i] = static_cast<uint8_t>(10 + i);
  return digits;
}();

// 1 to 16 digits and the one space behind them; moves `at` behind the space.
bool take_plain_hex(std::string_view line, size_t& at, uint64_t& value) {
  const size_t start = at;
  value = 0;
  for (;; ++at) {
    if (at == line.size()) return false;
    const uint8_t digit = kDigits[static_cast<unsigned char>(line[at])];
    if (digit == kNoDigit) break;
    value = (value << 4U) | digit;
  }
  const size_t digits = at - start;
  if (digits == 0 || digits > 16 || line[at] != ' ') return false;
  ++at;
  return true;
}

}  // namespace

std::string_view to_string(PerfMapFault fault) {
  switch (fault) {
    case PerfMapFault::none:
    case PerfMapFault::blank:
      break;
    case PerfMapFault::too_long:
      return "perf map line that is too long";
    case PerfMapFault::no_address:
      return "perf map line without an address";
    case PerfMapFault::no_size:
      return "perf map line without a size";
    case PerfMapFault::no_name:
      return "perf map line without a name";
    case PerfMapFault::leaves_address_space:
      return "perf map line whose range leaves the address space";
    case PerfMapFault::too_large:
      return "perf map line of an impossible size";
  }
  return "";
}

PerfMapFault parse_perf_map_line(std::string_view line, PerfMapFields& out) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > kLongestPerfMapLine) return PerfMapFault::too_long;
  size_t at = 0;
  if (take_plain_hex(line, at, out.address) && take_plain_hex(line, at, out.size) &&
      at < line.size() && !is_blank(line[at])) {
    out.name = line.substr(at);
  } else {
    std::string_view rest = line;
    skip_blanks(rest);
    if (rest.empty()) return PerfMapFault::blank;
    const std::optional<uint64_t> address = parse_hex(take_word(rest));
    if (!address) return PerfMapFault::no_address;
    skip_blanks(rest);
    const std::optional<uint64_t> size = parse_hex(take_word(rest));
    if (!size) return PerfMapFault::no_size;
    skip_blanks(rest);
    if (rest.empty()) return PerfMapFault::no_name;
    out = {*address, *size, rest};
  }
  if (!checked_add(out.address, out.size)) return PerfMapFault::leaves_address_space;
  if (out.size > kLargestPerfMapBody) return PerfMapFault::too_large;
  return PerfMapFault::none;
}

std::string shown_perf_map_line(std::string_view line) {
  std::string out(line.substr(0, 60));
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  if (line.size() > 60) out += "...";
  return out;
}

}  // namespace jitscope
