#include "render/json.h"

#include <fmt/format.h>

#include <iterator>

namespace jitscope {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 when there is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  size_t length = 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) length = 2;
  if (lead >= 0xe0 && lead <= 0xef) length = 3;
  if (lead >= 0xf0 && lead <= 0xf4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;  // overlong
  if (lead == 0xed && byte(1) > 0x9f) return 0;  // surrogates
  if (lead == 0xf0 && byte(1) < 0x90) return 0;  // overlong
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;  // beyond U+10FFFF
  return length;
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

std::string json_address(uint64_t address) { return fmt::format("\"{:#x}\"", address); }

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
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
