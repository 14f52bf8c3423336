#include "render/fit_text.h"

#include <algorithm>
#include <numeric>

namespace jitscope {
namespace {

constexpr std::string_view kDots = "...";
// Narrower ones have no place for dots.
constexpr size_t kDotted = 6;

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) != 0x80;
}

std::string_view first_characters(std::string_view text, size_t count) {
  size_t at = 0;
  while (at < text.size()) {
    if (begins_character(text[at]) && count-- == 0) break;
    ++at;
  }
  return text.substr(0, at);
}

std::string_view last_characters(std::string_view text, size_t count) {
  size_t at = text.size();
  while (at > 0 && count > 0) {
    if (begins_character(text[--at])) --count;
  }
  return text.substr(at);
}

// `head` of the characters that stay are from the beginning.
std::string cut(std::string_view text, size_t width, size_t head) {
  if (width < kDotted) return std::string(first_characters(text, width));
  std::string out(first_characters(text, head));
  out += kDots;
  out += last_characters(text, width - kDots.size() - head);
  return out;
}

// "put(a, b)", with a '?', a "const" or a " (library)" behind: where the parameters begin and end;
// npos: it has none worth leaving out.
struct Parameters {
  size_t begin = std::string_view::npos;
  size_t end = 0;
};
Parameters parameters_of(std::string_view name) {
  size_t close = 0;
  size_t depth = 0;
  for (size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')' && depth++ == 0) close = at;
    if (name[at] != '(' || depth == 0) continue;
    --depth;
    if (depth != 0) continue;
    // "(anonymous namespace)" begins a name.
    if (at == 0) break;
    if (name[at - 1] == ' ') continue;
    return close - at - 1 <= kDots.size() ? Parameters() : Parameters{at + 1, close};
  }
  return {};
}

}  // namespace

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, begins_character));
}

std::string fit_text(std::string_view text, size_t width) {
  if (characters(text) <= width) return std::string(text);
  return cut(text, width, (width - std::min(width, kDots.size()) + 1) / 2);
}

std::string fit_name(std::string_view name, size_t width) {
  if (characters(name) <= width) return std::string(name);
  std::string shorter(name);
  const Parameters parameters = parameters_of(name);
  if (parameters.begin != std::string_view::npos) {
    shorter.replace(parameters.begin, parameters.end - parameters.begin, kDots);
    if (characters(shorter) <= width) return shorter;
  }
  return cut(shorter, width, (width - std::min(width, kDots.size())) / 3);
}

std::vector<size_t> fit_columns(std::vector<size_t> wanted, size_t room) {
  if (wanted.empty()) return wanted;
  for (size_t& each : wanted) each = std::min(each, room);
  const size_t last = wanted.back();
  wanted.pop_back();
  const size_t others = room - std::min(last, room / 2);
  while (std::reduce(wanted.begin(), wanted.end()) > others) {
    size_t& widest = *std::ranges::max_element(wanted);
    if (widest <= 1) break;
    --widest;
  }
  const size_t used = std::reduce(wanted.begin(), wanted.end());
  wanted.push_back(room - std::min(used, room));
  return wanted;
}

}  // namespace jitscope
