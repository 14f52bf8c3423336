#include "render/json.h"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.h"

namespace jitscope {
namespace {

// As JSON has it: one \uNNNN, or two for what is beyond U+FFFF.
void append_json_escape(std::string& out, uint32_t code) {
  if (code > 0xffff) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", 0xd7c0U + (code >> 10U));
    code = 0xdc00U | (code & 0x3ffU);
  }
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
      text.remove_prefix(1);
    } else if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
      text.remove_prefix(1);
    } else {
      const auto [length, shown] = next_character(text);
      if (shown) {
        out += text.substr(0, length);
      } else {
        append_json_escape(out, utf8_length(text) == 0 ? 0xfffd : utf8_code(text, length));
      }
      text.remove_prefix(length);
    }
  }
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_address(uint64_t address) {
  return fmt::format("\"{:#x}\"", address);
}

JsonObject::JsonObject(std::string_view type) {
  if (!type.empty()) text("type", type);
}

void JsonObject::key(std::string_view name) {
  if (text_.size() > 1) text_ += ',';
  append_json_string(text_, name);
  text_ += ':';
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  key(name);
  append_json_string(text_, value);
  return *this;
}

JsonObject& JsonObject::address(std::string_view name, uint64_t value) {
  key(name);
  text_ += json_address(value);
  return *this;
}

JsonObject& JsonObject::number(std::string_view name, uint64_t value) {
  key(name);
  text_ += fmt::to_string(value);
  return *this;
}

JsonObject& JsonObject::boolean(std::string_view name, bool value) {
  key(name);
  text_ += value ? "true" : "false";
  return *this;
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view value) {
  key(name);
  text_ += value;
  return *this;
}

}  // namespace jitscope
