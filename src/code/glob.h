// Globs as shells and bpftrace have them, over a whole text: `*` any run of characters (also none),
// `?` one character, `[abc]`, `[a-z]`, `[!a]` one of a set. `[]` is no set (`int[]`), and what
// looks like a set also stands for itself (`[Symbol.iterator]` is a name of JavaScript's). No
// recursion.
#pragma once

#include <string_view>

namespace jitscope {

[[nodiscard]] bool glob_match(std::string_view glob, std::string_view text);
// Has a `*`, a `?` or a set.
[[nodiscard]] bool is_glob(std::string_view text);

}  // namespace jitscope
