#include "render/json.h"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.h"

namespace jitscope {
void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
      text.remove_prefix(1);
    } else if (c < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
      text.remove_prefix(1);
    } else if (const size_t length = utf8_length(text); length != 0) {
      out += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      out += "\\ufffd";
      text.remove_prefix(1);
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

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    size_t length = utf8_length(text);
    // U+0080 to U+009F (c2 80 to c2 9f) are control characters too: U+009B is what ESC [ is.
    const bool control =
        byte < 0x20 || byte == 0x7f ||
        (byte == 0xc2 && length == 2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (length != 0 && !control) {
      out += text.substr(0, length);
    } else {
      length = length == 0 ? 1 : length;
      for (const char c : text.substr(0, length)) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
    text.remove_prefix(length);
  }
  return out;
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
