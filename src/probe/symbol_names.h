// ELF symbol names for exposed methods, of a form that bpftrace, perf probe, BCC and libbpf take.
//
// The symbol is dotted, without parentheses ("java.util.HashMap.put"); an overloaded method's
// symbols carry their parameters ("java.lang.String.valueOf-int"), so that none stands for the
// others by accident. The alias carries the signature ("java.util.HashMap.put(java.lang.Object)"):
// fine for libbpf and quoted in bpftrace.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "code/code_body.h"

namespace jitscope {

struct SymbolName {
  std::string symbol;
  std::string alias;  // "" when the method has no parameters to show
};

// One a name, same order; all symbols are distinct.
[[nodiscard]] std::vector<SymbolName> symbol_names(std::span<const MethodName* const> names);

}  // namespace jitscope
