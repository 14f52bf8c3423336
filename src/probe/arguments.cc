#include "probe/arguments.h"

namespace jitscope {
namespace {

ArgumentValue integer(std::string_view type, int64_t value) {
  return {ArgumentValue::Kind::integer, type, value, 0};
}

ArgumentValue from_register(const Parameter& parameter, uint64_t value) {
  const std::string_view type = parameter.type_name;
  switch (parameter.type) {
    case ValueType::boolean_:
      return {ArgumentValue::Kind::boolean, type, (value & 0xff) != 0 ? 1 : 0, 0};
    case ValueType::char_:
      return {ArgumentValue::Kind::character, type, static_cast<int64_t>(value & 0xffff), 0};
    case ValueType::byte_:
      return integer(type, static_cast<int8_t>(value));
    case ValueType::short_:
      return integer(type, static_cast<int16_t>(value));
    case ValueType::int_:
      return integer(type, static_cast<int32_t>(value));
    case ValueType::long_:
      return integer(type, static_cast<int64_t>(value));
    case ValueType::reference:
      return {ArgumentValue::Kind::address, type, 0, value};
    case ValueType::float_:
    case ValueType::double_:
    case ValueType::js_value:
      break;
  }
  return {ArgumentValue::Kind::unknown, type, 0, 0};
}

std::vector<ArgumentValue> decode_hotspot(const CodeBody& body, const Hit& hit) {
  std::vector<ArgumentValue> values;
  if (body.parameters == nullptr) return values;
  size_t next = 0;
  for (const Parameter& parameter : *body.parameters) {
    const bool floating =
        parameter.type == ValueType::float_ || parameter.type == ValueType::double_;
    if (floating || next >= hit.registers.size()) {
      values.push_back({ArgumentValue::Kind::unknown, parameter.type_name, 0, 0});
      continue;
    }
    values.push_back(from_register(parameter, hit.registers[next++]));
  }
  return values;
}

// Without pointer compression (Node) a small integer is its value in the upper half, low half zero.
ArgumentValue from_tagged(std::string_view type, uint64_t value) {
  if ((value & 0xffffffffU) == 0) {
    return integer("smi", static_cast<int32_t>(static_cast<uint32_t>(value >> 32U)));
  }
  if ((value & 3U) == 1) return {ArgumentValue::Kind::address, type, 0, value - 1};
  return {ArgumentValue::Kind::unknown, type, 0, 0};
}

std::vector<ArgumentValue> decode_v8(const Hit& hit) {
  std::vector<ArgumentValue> values;
  // words[0] is the return address, words[1] the receiver.
  constexpr uint64_t most = hit_words - 2;
  const uint64_t count = hit.rax;
  if (!hit.words_valid || count == 0 || count > 0xffff) return values;
  for (uint64_t i = 0; i + 1 < count; ++i) {
    if (i >= most) {
      values.push_back({ArgumentValue::Kind::unknown, "value", 0, 0});
      if (values.size() >= most + 8) break;
      continue;
    }
    values.push_back(from_tagged("object", hit.words[2 + i]));
  }
  return values;
}

}  // namespace

std::vector<ArgumentValue> decode_arguments(const CodeBody& body, const Hit& hit) {
  switch (body.convention) {
    case CallConvention::hotspot_x86_64:
      return decode_hotspot(body, hit);
    case CallConvention::v8_x86_64:
      return decode_v8(hit);
    case CallConvention::unknown:
      break;
  }
  return {};
}

}  // namespace jitscope
