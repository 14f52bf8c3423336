// Pattern: how a user names methods. `*` matches any run of characters (also none), nothing else is
// special.
//
// - "java.util.HashMap.put", "java.util.HashMap::put" and "java.util.HashMap#put" mean the same.
// - Without '(' any parameters match; with them they must match too ("*.service(*)", "f(int,long)";
//   blanks after commas do not matter).
// - Names may hold any of these characters themselves (Kotlin: `even (number)`). So what is the
// name
//   of a method as it stands (names()) is never anything else: those who have the names at hand ask
//   for that first and then call take_literally(). A pattern in double quotes is literal from the
//   start: the way to write names with parentheses that do not match up.
// - V8: "handle" matches the function of that name wherever it is; "server.js:handle*" wants the
// file
//   too, by its last path components ("server.js", "app/server.js", or the whole path);
//   "server.js:12" wants the line. The full displayed name ("handle /srv/app/server.js:12:7")
//   matches itself. A function without a name is called "(anonymous)".
// - A pattern must match the whole name, not a part of it: "put" alone does not match
//   "java.util.HashMap.put" ("*.put" does).
// - The name exactly as the source wrote it (raw) always matches itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "code/code_body.h"

namespace jitscope {

class Pattern {
 public:
  // Errors (usage): empty, or unbalanced parentheses.
  static Result<Pattern> parse(std::string_view text);
  [[nodiscard]] bool matches(const MethodName& name) const;
  // The pattern is the method's name as it stands, with its parameters or without.
  [[nodiscard]] bool names(const MethodName& name) const;
  // Matches what it names() from now on, and nothing else.
  void take_literally() { literal_ = true; }
  // May be read in more than one way: it has a `*`, or parentheses.
  [[nodiscard]] bool ambiguous() const;
  // Could a method of this name match, whatever its parameters are? (`name` has none.)
  [[nodiscard]] bool may_match(const MethodName& name) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  // False when the pattern has a `*`.
  [[nodiscard]] bool exact() const { return literal_ || text_.find('*') == std::string::npos; }

 private:
  [[nodiscard]] bool matches_located(const MethodName& name) const;

  std::string text_;        // as the user wrote it
  std::string whole_;       // with "::" and "#" turned to "."
  std::string name_;        // the same before '('
  std::string parameters_;  // between the parentheses, without blanks around commas
  bool with_parameters_ = false;
  bool literal_ = false;
  std::string file_;      // V8: before ':' (Erlang: the module)
  std::string function_;  // V8: behind it
};

// `*` globbing over the whole text, linear in time for practical purposes (no recursion).
[[nodiscard]] bool glob_match(std::string_view glob, std::string_view text);

// The `count` names nearest to what the pattern says (edit distance over the parts), best first,
// without repetition. For "no match" messages.
[[nodiscard]] std::vector<std::string> nearest_names(std::string_view pattern,
                                                     std::span<const MethodName* const> names,
                                                     size_t count = 5);

}  // namespace jitscope
