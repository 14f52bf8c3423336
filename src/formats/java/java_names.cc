// Descriptors, class names and modified UTF-8; see java_names.h.
#include "formats/java/java_names.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace jitscope::java {
namespace {

constexpr size_t kMaxDimensions = 255;  // JVMS 4.3.2

struct Primitive {
  char code;
  std::string_view name;
};
constexpr std::array<Primitive, 8> kPrimitives = {{{'Z', "boolean"},
                                                   {'C', "char"},
                                                   {'B', "byte"},
                                                   {'S', "short"},
                                                   {'I', "int"},
                                                   {'J', "long"},
                                                   {'F', "float"},
                                                   {'D', "double"}}};

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0U | (code >> 6U));
    out += static_cast<char>(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0U | (code >> 12U));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3fU));
    out += static_cast<char>(0x80U | (code & 0x3fU));
  } else {
    out += static_cast<char>(0xf0U | (code >> 18U));
    out += static_cast<char>(0x80U | ((code >> 12U) & 0x3fU));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3fU));
    out += static_cast<char>(0x80U | (code & 0x3fU));
  }
}

// Length of the sequence at the front (1 to 3 bytes) and its 16-bit value; length 0: not well
// formed.
struct Unit {
  size_t length = 0;
  uint32_t value = 0;
};
Unit take_unit(std::string_view text) {
  const auto byte = [&](size_t i) -> uint32_t { return static_cast<uint8_t>(text[i]); };
  const auto follows = [&](size_t i) { return i < text.size() && (byte(i) & 0xc0U) == 0x80U; };
  if (byte(0) == 0) return {};
  if (byte(0) < 0x80) return {1, byte(0)};
  if ((byte(0) & 0xe0U) == 0xc0U && follows(1)) {
    return {2, ((byte(0) & 0x1fU) << 6U) | (byte(1) & 0x3fU)};
  }
  if ((byte(0) & 0xf0U) == 0xe0U && follows(1) && follows(2)) {
    return {3, ((byte(0) & 0x0fU) << 12U) | ((byte(1) & 0x3fU) << 6U) | (byte(2) & 0x3fU)};
  }
  return {};
}

}  // namespace

std::optional<FieldType> take_field_type(std::string_view& rest) {
  FieldType result;
  while (!rest.empty() && rest.front() == '[') {
    if (++result.dimensions > kMaxDimensions) return std::nullopt;
    rest.remove_prefix(1);
  }
  if (rest.empty()) return std::nullopt;
  result.code = rest.front();
  if (result.code == 'L') {
    const size_t end = rest.find(';');
    if (end == std::string_view::npos || end == 1) return std::nullopt;
    const std::string_view name = rest.substr(1, end - 1);
    // Nobody begins a class's name with a parenthesis; a descriptor in its place does.
    if (!is_class_name(name) || name.front() == '(') return std::nullopt;
    result.name = java_class_name(name);
    rest.remove_prefix(end + 1);
  } else {
    const auto* found = std::ranges::find(kPrimitives, result.code, &Primitive::code);
    if (found == kPrimitives.end()) return std::nullopt;
    result.name = found->name;
    rest.remove_prefix(1);
  }
  for (size_t i = 0; i < result.dimensions; ++i) result.name += "[]";
  return result;
}

std::optional<std::string> parameter_names(std::string_view descriptor) {
  if (!descriptor.starts_with('(')) return std::nullopt;
  std::string_view rest = descriptor.substr(1);
  std::string result;
  for (size_t count = 0; !rest.empty() && rest.front() != ')'; ++count) {
    const auto type = take_field_type(rest);
    if (!type || count == kMaxParameters) return std::nullopt;
    if (count != 0) result += ',';
    result += type->name;
  }
  if (rest.empty()) return std::nullopt;
  return result;
}

size_t descriptor_at_end(std::string_view text) {
  // Hostile text may be nothing but parentheses: no honest name needs more tries.
  constexpr int kTries = 16;
  size_t open = text.rfind('(');
  for (int i = 0; i < kTries && open != std::string_view::npos; ++i) {
    std::string_view rest = text.substr(open + 1);
    while (!rest.empty() && rest.front() != ')' && take_field_type(rest)) {
    }
    if (rest.starts_with(')')) {
      rest.remove_prefix(1);
      if (rest == "V" || (take_field_type(rest) && rest.empty())) return open;
    }
    if (open == 0) break;
    open = text.rfind('(', open - 1);
  }
  return std::string_view::npos;
}

bool is_class_name(std::string_view internal_name) {
  return !internal_name.empty() && internal_name.find_first_of(".;[") == std::string_view::npos;
}

bool is_method_name(std::string_view name) {
  return !name.empty() && name.find_first_of(".;[/") == std::string_view::npos;
}

std::string java_class_name(std::string_view internal_name) {
  std::string_view hidden;
  for (const std::string_view mark : {"+0x", "/0x"}) {
    const size_t at = internal_name.rfind(mark);
    if (at == std::string_view::npos || at == 0) continue;
    const std::string_view digits = internal_name.substr(at + mark.size());
    if (digits.empty() ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      continue;
    }
    internal_name = internal_name.substr(0, at);
    hidden = "+<hidden>";
    break;
  }
  std::string result = to_utf8(internal_name);
  std::ranges::replace(result, '/', '.');
  result += hidden;
  return result;
}

bool is_modified_utf8(std::string_view text) {
  while (!text.empty()) {
    const Unit unit = take_unit(text);
    if (unit.length == 0) return false;
    text.remove_prefix(unit.length);
  }
  return true;
}

std::string to_utf8(std::string_view modified) {
  // Nearly all names are ASCII, which is the same in both.
  if (std::ranges::all_of(modified, [](char c) { return static_cast<uint8_t>(c) < 0x80; })) {
    return std::string(modified);
  }
  constexpr uint32_t kReplacement = 0xfffd;
  std::string result;
  while (!modified.empty()) {
    const Unit unit = take_unit(modified);
    if (unit.length == 0) {
      append_utf8(result, kReplacement);
      modified.remove_prefix(1);
      continue;
    }
    modified.remove_prefix(unit.length);
    if (unit.value < 0xd800 || unit.value > 0xdfff) {
      append_utf8(result, unit.value);
      continue;
    }
    const Unit low = unit.value < 0xdc00 && !modified.empty() ? take_unit(modified) : Unit{};
    if (low.length == 3 && low.value >= 0xdc00 && low.value <= 0xdfff) {
      append_utf8(result, 0x10000 + ((unit.value - 0xd800) << 10U) + (low.value - 0xdc00));
      modified.remove_prefix(low.length);
    } else {
      append_utf8(result, kReplacement);
    }
  }
  return result;
}

}  // namespace jitscope::java
