// nearest_names: suggestions for a pattern that matched nothing. An edit distance (optimal string
// alignment, blind to case at half the price) over the function and the type separately, because
// the usual mistakes are a typo in one of them, a wrong case, and a package, an outer class or the
// class left out. Parts of the pattern that stand in the name anywhere before the function are
// never held against it, so that the obvious name comes before others that are alike. Work is
// bounded: every part is cut to kLongest characters, and lengths that differ too much are not
// compared.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "code/display_name.h"
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

// Takes ":12" or ":12:7" from the end: the place in a script is no name.
std::string_view without_place(std::string_view text) {
  for (int field = 0; field < 2; ++field) {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) break;
    if (text.find_first_not_of("0123456789", colon + 1) != std::string_view::npos) break;
    text = text.substr(0, colon);
  }
  return text;
}

Parts split_script(std::string_view text) {
  Parts parts;
  text = without_place(text);
  // "handle /srv/app/server.js", "app/server.js:handle": the file stands for the type.
  const size_t path = text.find(" /");
  const size_t colon = text.rfind(':');
  if (path != std::string_view::npos) {
    parts.function = text.substr(0, path);
    parts.type = text.substr(path + 1);
  } else if (colon != std::string_view::npos) {
    parts.function = text.substr(colon + 1);
    parts.type = text.substr(0, colon);
  } else {
    parts.function = text;
  }
  const size_t slash = parts.type.rfind('/');
  if (slash != std::string_view::npos) parts.type.remove_prefix(slash + 1);
  return parts;
}

Parts split(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return split_script(text);
  Parts parts;
  const size_t dot = text.rfind('.');
  parts.function = dot == std::string_view::npos ? text : text.substr(dot + 1);
  if (dot == std::string_view::npos) return parts;
  text = text.substr(0, dot);
  const size_t package = text.rfind('.');
  parts.type = package == std::string_view::npos ? text : text.substr(package + 1);
  if (package != std::string_view::npos) parts.package = text.substr(0, package);
  return parts;
}

// Below this the part is near enough to be a slip: at most about two fifths of it are wrong.
bool near(unsigned half_edits, std::string_view wanted, std::string_view found) {
  const size_t longest = std::max(tail(wanted).size(), tail(found).size());
  return half_edits * 5 <= longest * 4 || (longest <= 3 && half_edits <= 2);
}

bool same_folded(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, folded, folded);
}

// edit_distance(), or kFar when it is not near. However many letters have the wrong case, it is one
// slip.
unsigned distance(std::string_view wanted, std::string_view found) {
  if (same_folded(wanted, found)) return wanted == found ? 0 : 1;
  const auto [shorter, longer] = std::minmax({tail(wanted).size(), tail(found).size()});
  const auto least = static_cast<unsigned>(2 * (longer - shorter));
  if (!near(least, wanted, found)) return kFar;
  const unsigned half_edits = edit_distance(wanted, found);
  return near(half_edits, wanted, found) ? half_edits : kFar;
}

// How well `part` fits one of the names of which `path` ("com.example.Shop") is made; 0: it is one
// of them.
unsigned distance_to_any(std::string_view part, std::string_view path) {
  unsigned least = kFar;
  while (!path.empty()) {
    const size_t end = std::min(path.find('.'), path.size());
    least = std::min(least, distance(part, path.substr(0, end)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return least;
}

// The price of the class and package that were asked for, against the name's type.
unsigned type_cost(const Parts& wanted, std::string_view type) {
  constexpr unsigned unlike = 16;
  const Parts whole = split(type);  // its "function" is the simple name of the type
  unsigned cost = distance(wanted.type, whole.function);
  if (cost == kFar) {
    // "Outer.put" for "Outer.Inner.put", "com.put" for "com.Shop.put".
    const unsigned any = distance_to_any(wanted.type, type);
    cost = any == kFar ? unlike : any + 3;
  }
  if (wanted.package.empty()) return cost;
  const std::string_view package =
      type.substr(0, type.size() - std::min(type.size(), whole.function.size() + 1));
  if (package == wanted.package) return cost;
  if (package.ends_with(wanted.package) || package.starts_with(wanted.package)) return cost + 1;
  if (same_folded(package, wanted.package)) return cost + 1;
  return cost + 1 + std::min(edit_distance(wanted.package, package) / 6, 2U);
}

// The pattern names a type, not a method: "com.example.Orders" for its methods.
unsigned cost_as_type(const Parts& wanted, std::string_view type) {
  constexpr unsigned no_method = 6;
  if (type.empty()) return kFar;
  const Parts whole = split(type);
  const unsigned own = distance(wanted.function, whole.function);
  if (own == kFar) return kFar;
  if (wanted.type.empty()) return own + no_method;
  // What comes before it is a package then, or an outer class.
  return distance_to_any(wanted.type, type) == kFar ? own + no_method + 8 : own + no_method;
}

// Inner classes are written with '.' as often as with '$'.
std::string with_dots(std::string_view type) {
  std::string out(type);
  std::ranges::replace(out, '$', '.');
  return out;
}

unsigned cost_of(const Parts& wanted, const MethodName& name) {
  const std::string_view function =
      name.function.empty() ? std::string_view(name.raw) : name.function;
  unsigned own = distance(wanted.function, function);
  if (own == kFar && wanted.function.size() >= 3 && contains_folded(function, wanted.function)) {
    own = 8;
  }
  if (!name.location.empty()) {
    if (own == kFar) return kFar;
    return own + (wanted.type.empty() || contains_folded(name.location, wanted.type) ? 0 : 6);
  }
  const std::string path = with_dots(name.type);
  const unsigned as_type = cost_as_type(wanted, path);
  if (wanted.type.empty()) return std::min(own, as_type);
  const unsigned type = type_cost(wanted, path);
  if (own != kFar) return std::min(own + type, as_type);
  // Another method of the very class that was meant.
  return type <= 4 ? std::min(type + 16, as_type) : as_type;
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view pattern,
                                       std::span<const MethodName* const> names, size_t count) {
  const size_t last = open_of_last(pattern);
  const bool with_parameters = last != std::string_view::npos && last > 0;
  std::string text = normalised(with_parameters ? pattern.substr(0, last) : pattern);
  if (text.find(':') == std::string::npos && text.find(" /") == std::string::npos) {
    std::ranges::replace(text, '/', '.');  // "java/util/HashMap.put"
    const size_t dot = text.rfind('.');
    if (dot != std::string::npos)
      std::replace(text.begin(), text.begin() + static_cast<ptrdiff_t>(dot), '$', '.');
  }
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
