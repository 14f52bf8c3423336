// See dotnet_spelling.h. Format of the text: coreclr's TypeString and MetaSig (src/coreclr/vm).
#include "runtimes/dotnet/dotnet_spelling.h"

#include <array>
#include <vector>

namespace jitscope {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "class ", "valuetype " in front of a type; 0: neither.
size_t keyword(std::string_view text) {
  for (const std::string_view word : {std::string_view("class "), std::string_view("valuetype ")}) {
    if (text.starts_with(word)) return word.size();
  }
  return 0;
}

// "[]", "[,]", "[...,]": an array's; 0: none.
size_t array_suffix(std::string_view text) {
  const size_t end = text.find_first_not_of(",.*?0123456789", 1);
  return end != std::string_view::npos && text[end] == ']' ? end + 1 : 0;
}

}  // namespace

std::string dotnet_spelling(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::vector<char> closing;  // of the brackets that are open
  bool at_type = true;        // a type's name begins here
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (at_type) {
      if (const size_t word = keyword(rest); word != 0) {
        i += word;
        continue;
      }
      // The assembly that the type is from.
      const size_t end = rest.front() == '[' ? rest.find(']') : std::string_view::npos;
      if (end != std::string_view::npos && end + 1 < rest.size() && rest[end + 1] != ',' &&
          rest[end + 1] != ']' && array_suffix(rest) == 0) {
        i += end + 1;
        continue;
      }
    }
    at_type = false;
    const char c = rest.front();
    if (c == '`' && rest.size() > 1 && is_digit(rest[1])) {
      ++i;
      while (i < text.size() && is_digit(text[i])) ++i;
      continue;
    }
    if (c == '[') {
      if (const size_t array = array_suffix(rest); array != 0) {
        out += rest.substr(0, array);
        i += array;
        continue;
      }
      closing.push_back(']');
      out += '<';
      at_type = true;
    } else if (c == '<') {
      closing.push_back('>');
      out += c;
      at_type = true;
    } else if ((c == ']' || c == '>') && !closing.empty() && closing.back() == c) {
      closing.pop_back();
      out += '>';
    } else {
      out += c;
      at_type = c == ',' || c == '(';
    }
    ++i;
  }
  // What does not close is no type.
  return closing.empty() ? out : std::string(text);
}

}  // namespace jitscope
