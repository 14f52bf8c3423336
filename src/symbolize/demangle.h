// Readable names: C++ (Itanium ABI), Rust (v0 and legacy, without the trailing hash).
//
// libiberty does the work, the same code that perf and gdb use, under a bound on the text that one
// name may grow to. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace jitscope {

// Other texts, and names that would grow without bounds, as they are.
[[nodiscard]] std::string demangle(std::string_view name);

// As perf writes them: without parameters, return types and the marks of clones
// ("node::Start" for _ZN4node5StartEiPPc and for its .cold part).
[[nodiscard]] std::string demangle_short(std::string_view name);

}  // namespace jitscope
