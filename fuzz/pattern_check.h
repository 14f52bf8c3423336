// Patterns against method names, both of any bytes: the first line is the pattern, each line after
// it a name. Shared by the fuzz target and the unit tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "code/inlined_copies.h"
#include "code/pattern_settle.h"

namespace jitscope::fuzz {

// "" or what is wrong.
inline std::string check_pattern(std::span<const std::byte> bytes) {
  constexpr size_t most_names = 64;
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto line = [&rest] {
    const std::string_view found = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), found.size() + 1));
    return found;
  };
  auto pattern = Pattern::parse(line());
  std::vector<MethodName> names;
  while (!rest.empty() && names.size() < most_names)
    names.push_back(method_name_of_display(line()));
  std::vector<const MethodName*> pointers;
  for (const MethodName& name : names) pointers.push_back(&name);
  // A name in double quotes is that name and nothing else.
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"'; };
  for (const MethodName& name : names) {
    const std::string& raw = name.raw;
    if (name.function.empty() || !std::ranges::all_of(raw, plain)) continue;
    if (raw.front() == ' ' || raw.back() == ' ') continue;
    auto literal = Pattern::parse("\"" + raw + "\"");
    if (literal && !literal->matches(name)) return "a quoted name does not match: " + raw;
  }
  if (!pattern)
    return pattern.error().kind == ErrorKind::usage ? "" : "another error than of usage";
  size_t before = 0;
  for (const MethodName& name : names) before += pattern->matches(name) ? 1 : 0;
  Pattern settled = *pattern;
  const auto remarks = settle_patterns({&settled, 1}, pointers);
  if (!remarks)
    return remarks.error().kind == ErrorKind::usage ? "" : "another error than of usage";
  size_t after = 0;
  bool named = false;
  for (const MethodName& name : names) {
    after += settled.matches(name) ? 1 : 0;
    named = named || pattern->names(name);
  }
  // It is narrowed to the very name that it is, or it reaches more where it reached nothing.
  if (!named && before != 0 && after != before) return "settling changed what had a meaning";
  return "";
}

}  // namespace jitscope::fuzz
