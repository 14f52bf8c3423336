#include "probe/symbol_names.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace jitscope {
namespace {

// Letters, digits and what every tool takes in a symbol name; the rest becomes '_'.
std::string safe(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '$' || c == '<' || c == '>' || c == '-' || c == '/' ||
                      (static_cast<unsigned char>(c) & 0x80U) != 0;
    result += fine ? c : '_';
  }
  return result.empty() ? "anonymous" : result;
}

// "int,java.lang.String[]" -> "int-java.lang.String-array"
std::string safe_parameters(std::string_view parameters) {
  std::string result;
  size_t at = 0;
  while (at < parameters.size()) {
    if (parameters[at] == ',') {
      result += '-';
    } else if (parameters.substr(at).starts_with("[]")) {
      result += "-array";
      ++at;
    } else {
      result += safe(parameters.substr(at, 1));
    }
    ++at;
  }
  return result.empty() ? "none" : result;
}

std::string base_name(const MethodName& name) {
  if (name.location.empty()) return safe(name.short_name());
  // V8: function and the last component of its file; file:line:column would not pass as a symbol.
  std::string_view file = name.location;
  for (int i = 0; i < 2; ++i) {
    const size_t colon = file.rfind(':');
    if (colon != std::string_view::npos) file = file.substr(0, colon);
  }
  const size_t slash = file.rfind('/');
  if (slash != std::string_view::npos) file = file.substr(slash + 1);
  return safe(fmt::format("{}.{}", file, name.function.empty() ? "anonymous" : name.function));
}

}  // namespace

std::vector<SymbolName> symbol_names(std::span<const MethodName* const> names) {
  std::map<std::string, size_t> users;
  for (const MethodName* name : names) ++users[base_name(*name)];
  std::set<std::string> taken;
  std::vector<SymbolName> result;
  for (const MethodName* name : names) {
    SymbolName each;
    each.symbol = base_name(*name);
    if (users[each.symbol] > 1 && name->has_parameters) {
      each.symbol += '-' + safe_parameters(name->parameters);
    }
    const std::string wanted = each.symbol;
    for (int number = 2; !taken.insert(each.symbol).second; ++number) {
      each.symbol = fmt::format("{}.{}", wanted, number);
    }
    if (name->has_parameters) each.alias = name->display();
    result.push_back(std::move(each));
  }
  return result;
}

}  // namespace jitscope
