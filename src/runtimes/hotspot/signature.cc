// Method descriptors; see signature.h.
#include "runtimes/hotspot/signature.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace jitscope::hotspot {
namespace {

ValueType value_type(const java::FieldType& type) {
  if (type.dimensions != 0) return ValueType::reference;
  switch (type.code) {
    case 'Z':
      return ValueType::boolean_;
    case 'C':
      return ValueType::char_;
    case 'B':
      return ValueType::byte_;
    case 'S':
      return ValueType::short_;
    case 'I':
      return ValueType::int_;
    case 'J':
      return ValueType::long_;
    case 'F':
      return ValueType::float_;
    case 'D':
      return ValueType::double_;
    default:
      return ValueType::reference;
  }
}

Error malformed(std::string_view descriptor, std::string_view why) {
  const std::string_view shown = descriptor.substr(0, 80);
  return Error{
      ErrorKind::damaged, fmt::format("method descriptor \"{}\" {}", shown, why), {}, {}, 0};
}

std::optional<Parameter> take_type(std::string_view& rest) {
  auto type = java::take_field_type(rest);
  if (!type) return std::nullopt;
  Parameter result;
  result.type = value_type(*type);
  result.type_name = std::move(type->name);
  return result;
}

}  // namespace

Result<Signature> parse_signature(std::string_view descriptor) {
  if (descriptor.empty() || descriptor.front() != '(') {
    return fail(malformed(descriptor, "does not begin with ("));
  }
  Signature result;
  std::string_view rest = descriptor.substr(1);
  while (!rest.empty() && rest.front() != ')') {
    if (result.parameters.size() == java::kMaxParameters) {
      return fail(malformed(descriptor, "has more than 255 parameters"));
    }
    auto parameter = take_type(rest);
    if (!parameter) return fail(malformed(descriptor, "has a malformed parameter"));
    result.parameters.push_back(std::move(*parameter));
  }
  if (rest.empty()) return fail(malformed(descriptor, "has no )"));
  rest.remove_prefix(1);
  if (rest == "V") {
    result.result = "void";
    return result;
  }
  auto returned = take_type(rest);
  if (!returned || !rest.empty()) return fail(malformed(descriptor, "has a malformed result"));
  result.result = std::move(returned->type_name);
  return result;
}

std::string join_type_names(const std::vector<Parameter>& parameters) {
  std::string result;
  for (const Parameter& parameter : parameters) {
    if (!result.empty()) result += ',';
    result += parameter.type_name;
  }
  return result;
}

}  // namespace jitscope::hotspot
