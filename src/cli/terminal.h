// Standard output as a terminal: whether it is one, how wide, and whether it wants colours. What
// writes text is given numbers.
#pragma once

#include <cstddef>
#include <string_view>

namespace jitscope {

struct Terminal {
  bool there = false;
  bool dumb = false;  // by TERM: it knows no escape sequences
  // Characters in a line, $COLUMNS or what the kernel knows, at least 40; 0: no terminal, lines are
  // as long as they are.
  size_t width = 0;
};
// As it was when first asked: a pager may come in between later.
const Terminal& terminal();

// "always", "never"; "auto": on a terminal that is not dumb, unless NO_COLOR is set.
[[nodiscard]] bool wants_colour(std::string_view choice);

}  // namespace jitscope
