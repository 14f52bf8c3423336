// JSON, one object a line, written by hand because it is streamed in bulk; read by nlohmann-json in
// the tests. Text that is not UTF-8 is made so ("\ufffd" for each bad byte); what a terminal must
// not see (base/printable.h) is \uNNNN.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/printable.h"

namespace jitscope {

// "text" with quotes, escaped.
[[nodiscard]] std::string json_string(std::string_view text);
void append_json_string(std::string& out, std::string_view text);
// "0x7f12..." with quotes.
[[nodiscard]] std::string json_address(uint64_t address);

// Builds one object: JsonObject o("body"); o.text("method", name).number("size", 12); o.str() +
// '\n'.
class JsonObject {
 public:
  // `type` becomes the first member "type"; an object without one for "".
  explicit JsonObject(std::string_view type);
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& address(std::string_view key, uint64_t value);
  JsonObject& number(std::string_view key, uint64_t value);
  JsonObject& boolean(std::string_view key, bool value);
  // `value` is JSON already.
  JsonObject& raw(std::string_view key, std::string_view value);
  [[nodiscard]] std::string str() const { return text_ + "}"; }

 private:
  void key(std::string_view name);
  std::string text_ = "{";
};

// "[a,b]" of JSON texts.
template <typename Range, typename Function>
[[nodiscard]] std::string json_array(const Range& range, Function&& function) {
  std::string text = "[";
  for (const auto& each : range) {
    if (text.size() > 1) text += ',';
    text += function(each);
  }
  return text + "]";
}

}  // namespace jitscope
