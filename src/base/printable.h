// Text of strangers on its way to a terminal, or to a tool that takes a line at a time: what a
// terminal would obey, what is not seen and what changes how the rest is seen becomes \xNN, byte by
// byte. That is: control characters (C0, DEL, C1: U+009B does what ESC [ does), bytes that are no
// UTF-8 (0x9b alone is U+009B to an 8-bit terminal), marks of direction (U+202E), separators of
// lines, and characters without a shape (U+200B). All other Unicode passes as it is.
//
// Applying it twice changes nothing more.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace jitscope {

struct NextCharacter {
  size_t length = 0;   // in bytes; 1 for a byte that is no UTF-8, 0 at the end
  bool shown = false;  // may stand as it is
};
// Of one line: line ends and tabs are not shown.
[[nodiscard]] NextCharacter next_character(std::string_view text);

// A text that is one line, a name in a table: line ends and tabs are \xNN too.
[[nodiscard]] std::string printable(std::string_view text);
void append_printable(std::string& out, std::string_view text);

// Text that is lines already: \n and \t pass.
[[nodiscard]] std::string printable_lines(std::string_view text);
// Whether printable_lines() would change nothing; as fast as memory where all is ASCII.
[[nodiscard]] bool is_printable_lines(std::string_view text);

}  // namespace jitscope
