// Text in the columns of a table that is as wide as a terminal. Widths count characters, not bytes
// (those of East Asia that take two places count as one); texts are printable (base/printable.h),
// and what is made of them stays so.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace jitscope {

[[nodiscard]] size_t characters(std::string_view text);

// At most `width` characters: what is too much is left out of the middle, where "..." stands then.
// Below six characters only the first ones stay.
[[nodiscard]] std::string fit_text(std::string_view text, size_t width);
// A method's name: its parameters go first ("put(...)"), then what stands at a third, so that the
// package's beginning and the method itself are seen.
[[nodiscard]] std::string fit_name(std::string_view name, size_t width);

// The widths that columns get which would like to be so wide, when all may have `room` together:
// the widest give first. The last one, where names stand, keeps half of the room if it can use that
// much.
[[nodiscard]] std::vector<size_t> fit_columns(std::vector<size_t> wanted, size_t room);

}  // namespace jitscope
