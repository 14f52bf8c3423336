// Takes displayed method names ("java.util.HashMap.put(java.lang.Object,int)") apart again, where
// only the text is at hand: in jitdumps, perf maps and what users type. Pure text.
//
// Names may hold parentheses and blanks themselves (Kotlin's `even (number)`), so the parameters
// are what the last group of parentheses holds. Method names hold no dot (JVMS 4.2.2).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace jitscope {

struct DisplayParts {
  std::string_view type;
  std::string_view function;
  std::string_view parameters;
  bool has_parameters = false;
};

[[nodiscard]] DisplayParts split_display(std::string_view display);

// Where the '(' that belongs to the ')' at the end stands; npos when there is none.
[[nodiscard]] size_t open_of_last(std::string_view text);

// "int, java.lang.String" -> "int,java.lang.String": blanks around commas go, those in names stay.
[[nodiscard]] std::string compact_parameters(std::string_view parameters);

}  // namespace jitscope
