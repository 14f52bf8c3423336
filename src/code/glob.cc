// Matching of globs; see glob.h. One place to come back to is enough: a later star matches what an
// earlier one could.
#include "code/glob.h"

#include <algorithm>
#include <cstddef>

namespace jitscope {
namespace {

// The length of the set that begins at `at`; 0 when none does.
size_t set_length(std::string_view glob, size_t at) {
  if (glob[at] != '[') return 0;
  size_t first = at + 1;
  if (first < glob.size() && (glob[first] == '!' || glob[first] == '^')) ++first;
  const size_t end = glob.find(']', first);
  return end == std::string_view::npos || end == first ? 0 : end + 1 - at;
}

// Of UTF-8, as far as it is any.
size_t character_length(std::string_view text, size_t at) {
  const auto follows = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; };
  if ((static_cast<unsigned char>(text[at]) & 0xc0U) != 0xc0) return 1;
  size_t end = at + 1;
  while (end < text.size() && end - at < 4 && follows(text[end])) ++end;
  return end - at;
}

bool in_set(std::string_view set, std::string_view character) {
  set = set.substr(1, set.size() - 2);
  const bool inverted = set.front() == '!' || set.front() == '^';
  if (inverted) set.remove_prefix(1);
  bool found = character.size() > 1 && set.find(character) != std::string_view::npos;
  for (size_t i = 0; character.size() == 1 && i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found = found || (set[i] <= character[0] && character[0] <= set[i + 2]);
      i += 2;
    } else {
      found = found || set[i] == character[0];
    }
  }
  return found != inverted;
}

bool match(std::string_view glob, std::string_view text, bool sets) {
  size_t g = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;  // the last '*' seen, and how much of the text it covers
  size_t covered = 0;
  while (t < text.size()) {
    const size_t set = sets && g < glob.size() ? set_length(glob, g) : 0;
    const size_t length = character_length(text, t);
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      covered = t;
    } else if (set != 0 && in_set(glob.substr(g, set), text.substr(t, length))) {
      g += set;
      t += length;
    } else if (g < glob.size() && glob[g] == '?') {
      ++g;
      t += length;
    } else if (set == 0 && g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++covered;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool has_set(std::string_view glob) {
  for (size_t i = 0; i < glob.size(); ++i) {
    if (set_length(glob, i) != 0) return true;
  }
  return false;
}

}  // namespace

bool glob_match(std::string_view glob, std::string_view text) {
  if (!has_set(glob)) return match(glob, text, false);
  return match(glob, text, true) || match(glob, text, false);
}

bool is_glob(std::string_view text) {
  return text.find_first_of("*?") != std::string_view::npos || has_set(text);
}

}  // namespace jitscope
