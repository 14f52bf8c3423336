// The words for the model's enumerations, as output and JSON show them, and the displayed form of
// names.
#include "code/code_body.h"

namespace jitscope {

std::string_view to_string(Runtime runtime) {
  switch (runtime) {
    case Runtime::unknown:
      return "unknown";
    case Runtime::hotspot:
      return "HotSpot";
    case Runtime::v8:
      return "V8";
    case Runtime::dotnet:
      return ".NET";
    case Runtime::erlang:
      return "Erlang";
    case Runtime::php:
      return "PHP";
    case Runtime::mono:
      return "Mono";
  }
  return "unknown";
}

std::string_view to_string(Tier tier) {
  switch (tier) {
    case Tier::unknown:
      return "unknown";
    case Tier::bytecode:
      return "bytecode";
    case Tier::baseline:
      return "baseline";
    case Tier::maglev:
      return "maglev";
    case Tier::turbofan:
      return "turbofan";
    case Tier::c1:
      return "c1";
    case Tier::c1_limited:
      return "c1-limited";
    case Tier::c1_full:
      return "c1-full";
    case Tier::c2:
      return "c2";
    case Tier::dfg:
      return "dfg";
    case Tier::ftl:
      return "ftl";
    case Tier::bbq:
      return "bbq";
    case Tier::omg:
      return "omg";
    case Tier::native:
      return "native";
    case Tier::prejit:
      return "prejit";
    case Tier::stub:
      return "stub";
  }
  return "unknown";
}

std::string_view to_string(BodyState state) {
  switch (state) {
    case BodyState::unknown:
      return "unknown";
    case BodyState::in_use:
      return "in_use";
    case BodyState::not_entrant:
      return "not_entrant";
    case BodyState::dead:
      return "dead";
  }
  return "unknown";
}

std::string_view to_string(SourceKind kind) {
  switch (kind) {
    case SourceKind::hotspot_memory:
      return "hotspot";
    case SourceKind::perf_map:
      return "perf-map";
    case SourceKind::compiler_perfmap:
      return "compiler-perfmap";
    case SourceKind::mapped_image:
      return "mapped-image";
  }
  return "unknown";
}

std::string_view to_string(ValueType type) {
  switch (type) {
    case ValueType::boolean_:
      return "boolean";
    case ValueType::char_:
      return "char";
    case ValueType::byte_:
      return "byte";
    case ValueType::short_:
      return "short";
    case ValueType::int_:
      return "int";
    case ValueType::long_:
      return "long";
    case ValueType::float_:
      return "float";
    case ValueType::double_:
      return "double";
    case ValueType::reference:
      return "reference";
    case ValueType::js_value:
      return "js-value";
  }
  return "unknown";
}

std::string MethodName::short_name() const {
  if (!location.empty()) {
    return (function.empty() ? std::string("(anonymous)") : function) + ' ' + location;
  }
  if (type.empty()) return function.empty() ? raw : function;
  return function.empty() ? type : type + '.' + function;
}

std::string MethodName::display() const {
  std::string text = short_name();
  if (has_parameters && location.empty()) {
    text += '(';
    text += parameters;
    text += ')';
  }
  return text;
}

}  // namespace jitscope
