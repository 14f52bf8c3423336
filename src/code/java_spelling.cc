#include "code/java_spelling.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace jitscope {
namespace {

constexpr std::array<std::pair<char, std::string_view>, 9> kPrimitive = {{{'B', "byte"},
                                                                          {'C', "char"},
                                                                          {'D', "double"},
                                                                          {'F', "float"},
                                                                          {'I', "int"},
                                                                          {'J', "long"},
                                                                          {'S', "short"},
                                                                          {'V', "void"},
                                                                          {'Z', "boolean"}}};

std::string dotted(std::string_view text) {
  std::string out(text);
  std::ranges::replace(out, '/', '.');
  return out;
}

// Takes one type from the beginning; nullopt when none stands there.
std::optional<std::string> take_type(std::string_view& text) {
  size_t arrays = 0;
  while (arrays < text.size() && text[arrays] == '[') ++arrays;
  constexpr size_t most_dimensions = 255;  // JVMS 4.3.2
  if (arrays > most_dimensions || arrays == text.size()) return std::nullopt;
  text.remove_prefix(arrays);
  std::string type;
  if (text.front() == 'L') {
    const size_t end = text.find(';');
    if (end == std::string_view::npos || end == 1) return std::nullopt;
    type = dotted(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
  } else {
    const auto* found =
        std::ranges::find(kPrimitive, text.front(), [](const auto& entry) { return entry.first; });
    if (found == kPrimitive.end()) return std::nullopt;
    type = found->second;
    text.remove_prefix(1);
  }
  for (size_t i = 0; i < arrays; ++i) type += "[]";
  return type;
}

// "A.m(I)V" -> "A.m(int)".
std::optional<std::string> from_descriptor(std::string_view text) {
  const size_t close = text.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  const size_t open = text.rfind('(', close);
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  std::string_view returned = text.substr(close + 1);
  if (returned.empty() || !take_type(returned) || !returned.empty()) return std::nullopt;
  std::string out(text.substr(0, open));
  out += '(';
  std::string_view rest = text.substr(open + 1, close - open - 1);
  for (bool first = true; !rest.empty(); first = false) {
    const auto type = take_type(rest);
    if (!type || *type == "void") return std::nullopt;
    if (!first) out += ',';
    out += *type;
  }
  return out + ')';
}

bool is_word_of_declaration(std::string_view word) {
  constexpr std::array<std::string_view, 9> modifiers = {"public",   "protected",    "private",
                                                         "static",   "final",        "native",
                                                         "abstract", "synchronized", "strictfp"};
  if (std::ranges::find(modifiers, word) != modifiers.end()) return true;
  const auto primitive = [&](const auto& entry) {
    return word == entry.second ||
           (word.starts_with(entry.second) && word.substr(entry.second.size()).starts_with("[]"));
  };
  if (std::ranges::any_of(kPrimitive, primitive)) return true;
  // A class without a package is no word that must be one: names may have blanks.
  return word.find('.') != std::string_view::npos && std::ranges::all_of(word, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  std::string_view("._$[]").find(c) != std::string_view::npos ||
                  static_cast<unsigned char>(c) >= 0x80;
         });
}

std::string_view without_declaration(std::string_view text) {
  while (true) {
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos || blank > text.find('(')) return text;
    // Behind the return type stands the class with its method.
    const std::string_view rest = text.substr(blank + 1);
    if (!is_word_of_declaration(text.substr(0, blank)) || rest.empty()) return text;
    text = rest;
  }
}

std::string without_class_marks(std::string text) {
  if (!text.starts_with('L')) return text;
  const size_t end = text.find(';');
  if (end == std::string::npos || end > text.find('(')) return text;
  if (end + 1 != text.size() && text[end + 1] != '.') return text;
  text.erase(end, 1);
  text.erase(0, 1);
  return text;
}

}  // namespace

std::optional<std::string> java_spelling(std::string_view text) {
  if (text.starts_with('/') || text.find(':') != std::string_view::npos) return std::nullopt;
  const std::string_view declared = without_declaration(text);
  std::string out = from_descriptor(declared).value_or(std::string(declared));
  out = dotted(without_class_marks(std::move(out)));
  if (out == text) return std::nullopt;
  return out;
}

}  // namespace jitscope
