// Splitting of displayed names; see display_name.h.
#include "code/display_name.h"

namespace jitscope {

size_t open_of_last(std::string_view text) {
  if (!text.ends_with(')')) return std::string_view::npos;
  size_t depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

DisplayParts split_display(std::string_view display) {
  DisplayParts parts;
  const size_t open = open_of_last(display);
  if (open != std::string_view::npos) {
    parts.parameters = display.substr(open + 1, display.size() - open - 2);
    parts.has_parameters = true;
    display = display.substr(0, open);
  }
  const size_t dot = display.rfind('.');
  if (dot == std::string_view::npos) {
    parts.function = display;
  } else {
    parts.type = display.substr(0, dot);
    parts.function = display.substr(dot + 1);
  }
  return parts;
}

std::string compact_parameters(std::string_view parameters) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  std::string out;
  bool at_begin = true;  // of a parameter
  for (const char c : parameters) {
    if (at_begin && blank(c)) continue;
    at_begin = c == ',';
    if (at_begin) {
      while (!out.empty() && blank(out.back())) out.pop_back();
    }
    out += c;
  }
  while (!out.empty() && blank(out.back())) out.pop_back();
  return out;
}

}  // namespace jitscope
