// nearest_names: suggestions for a pattern that matched nothing. An edit distance (optimal string
// alignment, blind to case at half the price) over the function and the type separately, because
// the usual mistakes are a typo in one of them and a missing package. Work is bounded: every part
// is cut to kLongest characters.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "code/pattern.h"

namespace jitscope {
namespace {

constexpr size_t kLongest = 64;
constexpr unsigned kFar = 1U << 20U;

struct Ranked {
  unsigned cost = 0;
  size_t index = 0;
};

struct Parts {
  std::string_view package;
  std::string_view type;  // its last component
  std::string_view function;
};

// The last characters say most: packages and paths begin alike.
std::string_view tail(std::string_view text) {
  return text.size() > kLongest ? text.substr(text.size() - kLongest) : text;
}

char folded(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// In half edits: 2 for an insertion, deletion, substitution or swap of neighbours, 1 for a change
// of case.
unsigned edit_distance(std::string_view a, std::string_view b) {
  a = tail(a);
  b = tail(b);
  std::array<std::array<unsigned, kLongest + 1>, 3> rows{};
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<unsigned>(2 * j);
  for (size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& before = rows[(i + 1) % 3];
    row[0] = static_cast<unsigned>(2 * i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const unsigned change = a[i - 1] == b[j - 1]                   ? 0
                              : folded(a[i - 1]) == folded(b[j - 1]) ? 1
                                                                     : 2;
      row[j] = std::min({above[j] + 2, row[j - 1] + 2, above[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 2);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

bool contains_folded(std::string_view text, std::string_view part) {
  return !part.empty() && std::ranges::search(text, part, {}, folded, folded).begin() != text.end();
}

std::string normalised(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*') continue;
    if (text.substr(i, 2) == "::") {
      out += '.';
      ++i;
    } else {
      out += text[i] == '#' ? '.' : text[i];
    }
  }
  return out;
}

Parts split(std::string_view text) {
  Parts parts;
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {  // "app/server.js:handle": the file stands for the type
    parts.function = text.substr(colon + 1);
    parts.type = text.substr(0, colon);
    const size_t slash = parts.type.rfind('/');
    if (slash != std::string_view::npos) parts.type.remove_prefix(slash + 1);
    return parts;
  }
  const size_t dot = text.rfind('.');
  parts.function = dot == std::string_view::npos ? text : text.substr(dot + 1);
  if (dot == std::string_view::npos) return parts;
  text = text.substr(0, dot);
  const size_t package = text.rfind('.');
  parts.type = package == std::string_view::npos ? text : text.substr(package + 1);
  if (package != std::string_view::npos) parts.package = text.substr(0, package);
  return parts;
}

// The part is near enough to be a slip: at most about two fifths of it are wrong.
bool near(unsigned half_edits, std::string_view wanted, std::string_view found) {
  const size_t longest = std::max(tail(wanted).size(), tail(found).size());
  return half_edits * 5 <= longest * 4 || (longest <= 3 && half_edits <= 2);
}

unsigned cost_of(const Parts& wanted, const MethodName& name) {
  const std::string_view function =
      name.function.empty() ? std::string_view(name.raw) : name.function;
  unsigned cost = edit_distance(wanted.function, function);
  bool function_near = near(cost, wanted.function, function);
  if (!function_near && wanted.function.size() >= 3 && contains_folded(function, wanted.function)) {
    cost = std::min(cost, 8U);
    function_near = true;
  }
  if (!name.location.empty()) {
    if (!function_near) return kFar;
    return cost + (wanted.type.empty() || contains_folded(name.location, wanted.type) ? 0 : 6);
  }
  const Parts whole = split(name.type);  // its "function" is the simple name of the type
  if (wanted.type.empty()) {
    // Perhaps only the type was named.
    const unsigned as_type = edit_distance(wanted.function, whole.function);
    if (!whole.function.empty() && near(as_type, wanted.function, whole.function)) {
      return std::min(function_near ? cost : kFar, as_type + 6);
    }
    return function_near ? cost : kFar;
  }
  const unsigned type_cost = edit_distance(wanted.type, whole.function);
  const bool type_near = near(type_cost, wanted.type, whole.function);
  if (!function_near && (!type_near || type_cost > 2)) return kFar;
  cost += type_near ? type_cost : std::min(type_cost, 12U) + 4;
  if (!wanted.package.empty()) {
    const size_t dot = name.type.rfind('.');
    const std::string_view package =
        dot == std::string::npos ? std::string_view() : std::string_view(name.type).substr(0, dot);
    if (!package.ends_with(wanted.package)) {
      cost += std::min(edit_distance(wanted.package, package) / 2, 8U);
    }
  }
  return cost;
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view pattern,
                                       std::span<const MethodName* const> names, size_t count) {
  const size_t open = pattern.find('(');
  const bool with_parameters = open != std::string_view::npos && open > 0;
  const std::string text = normalised(with_parameters ? pattern.substr(0, open) : pattern);
  const Parts wanted = split(text);
  std::vector<Ranked> ranked;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == nullptr) continue;
    const unsigned cost = cost_of(wanted, *names[i]);
    if (cost < kFar) ranked.push_back({cost, i});
  }
  std::ranges::sort(ranked, {},
                    [](const Ranked& entry) { return std::pair(entry.cost, entry.index); });
  std::vector<std::string> found;
  std::unordered_set<std::string> seen;
  for (const Ranked& entry : ranked) {
    if (found.size() >= count) break;
    const MethodName* name = names[entry.index];
    std::string shown = with_parameters ? name->display() : name->short_name();
    if (seen.insert(shown).second) found.push_back(std::move(shown));
  }
  return found;
}

}  // namespace jitscope
