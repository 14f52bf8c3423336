#include "probe/symbol_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/printable.h"

namespace jitscope {
namespace {

// Letters, digits and what every tool takes in a symbol name; the rest becomes '_'.
std::string safe(std::string_view text) {
  std::string result;
  for (size_t length = 0; !text.empty(); text.remove_prefix(length)) {
    const NextCharacter next = next_character(text);
    length = next.length;
    if (length > 1) {
      result += next.shown ? text.substr(0, length) : "_";
      continue;
    }
    const char c = text.front();
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '$' || c == '<' || c == '>' || c == '-' ||
                      c == '/';
    result += fine ? c : '_';
  }
  return result.empty() ? "anonymous" : result;
}

// "int,java.lang.String[]" -> "int-java.lang.String-array"
std::string safe_parameters(std::string_view parameters) {
  std::string result;
  while (!parameters.empty()) {
    if (parameters.starts_with("[]")) {
      result += "-array";
      parameters.remove_prefix(2);
      continue;
    }
    if (parameters.front() == ',') {
      result += '-';
      parameters.remove_prefix(1);
      continue;
    }
    const size_t run = std::min(parameters.find_first_of(",[", 1), parameters.size());
    result += safe(parameters.substr(0, run));
    parameters.remove_prefix(run);
  }
  return result.empty() ? "none" : result;
}

// A symbol table takes any bytes but NUL, tools that print it, and terminals, do not.
bool fit_for_a_symbol(std::string_view text) {
  return printable(text) == text;
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
    if (name->has_parameters && fit_for_a_symbol(name->display())) each.alias = name->display();
    result.push_back(std::move(each));
  }
  return result;
}

}  // namespace jitscope
