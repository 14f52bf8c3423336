// Pattern: how a user names methods; docs/patterns.md is what users read.
//
// - A pattern is a glob (code/glob.h) over the whole name. "java.util.HashMap.put",
//   "java.util.HashMap::put" and "java.util.HashMap#put" mean the same, and so does what
//   code/java_spelling.h lists.
// - Without '(' any parameters match; with them they must match too ("*.service(*)", "f(int,long)";
//   blanks after commas do not matter).
// - "/expression/" is a regular expression, found anywhere in the displayed name.
// - Names may hold any of these characters themselves (Kotlin: `even (number)`). So what is the
//   name of a method as it stands (names()) is never anything else: those who have the names at
//   hand ask for that first (settle_patterns() does). A pattern in double quotes is literal from
//   the start: the way to write names with parentheses that do not match up.
// - What is less than a whole name ("HashMap.put", "put*", "java.util.HashMap") matches nothing by
//   itself: settle_patterns() gives it its meaning among the names that are there.
// - V8: "handle" matches the function of that name wherever it is; "server.js:handle*" wants the
//   file too, by its last path components ("server.js", "app/server.js", or the whole path);
//   "server.js:12" wants the line. The full displayed name ("handle /srv/app/server.js:12:7")
//   matches itself. A function without a name is called "(anonymous)".
// - The name exactly as the source wrote it (raw) always matches itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "code/code_body.h"
#include "code/glob.h"
#include "code/regular_expression.h"

namespace jitscope {

class Pattern {
 public:
  // Errors (usage): empty, unbalanced parentheses, or no regular expression.
  static Result<Pattern> parse(std::string_view text);
  [[nodiscard]] bool matches(const MethodName& name) const;
  // The pattern is the method's name as it stands, with its parameters or without.
  [[nodiscard]] bool names(const MethodName& name) const;
  // Matches what it names() from now on, and nothing else.
  void take_literally() { literal_ = true; }
  // May be read in more than one way: it is a glob, or has parentheses.
  [[nodiscard]] bool ambiguous() const;
  // May be read as less than a whole name: neither literal nor a regular expression.
  [[nodiscard]] bool may_be_short() const { return !literal_ && !expression_; }

  // For settle_patterns(), of names that are not matched as a whole. The pattern without
  // parameters, as jitscope spells types.
  [[nodiscard]] const std::string& type_text() const;
  // The class that the pattern means when its last part is the method ("HashMap" of "HashMap.put",
  // "" of "put*"), and whether it matches so.
  [[nodiscard]] std::string_view short_class() const;
  [[nodiscard]] bool matches_short(const MethodName& name) const;
  [[nodiscard]] bool has_parameters() const { return with_parameters_; }
  // From now on: all methods of this class; what matches_short(); the same, of this class alone.
  void take_class(std::string_view type);
  void take_short() { form_ = Form::short_name; }
  void take_short_of(std::string_view type);
  // Could a method of this name match, whatever its parameters are? (`name` has none.)
  [[nodiscard]] bool may_match(const MethodName& name) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  // False for globs and regular expressions.
  [[nodiscard]] bool exact() const { return literal_ || (!expression_ && !is_glob(text_)); }

 private:
  enum class Form : uint8_t { whole_name, type, short_name, short_name_of_type };

  void split_parameters();
  [[nodiscard]] bool matches_located(const MethodName& name) const;
  [[nodiscard]] bool matches_qualified(const std::string& qualified, const MethodName& name) const;
  [[nodiscard]] bool matches_form(const MethodName& name) const;

  std::string text_;        // as the user wrote it
  std::string whole_;       // with "::" and "#" turned to "."
  std::string name_;        // the same before '('
  std::string parameters_;  // between the parentheses, without blanks around commas
  bool with_parameters_ = false;
  bool literal_ = false;
  Form form_ = Form::whole_name;
  std::string type_;      // the class that it was settled to
  std::string file_;      // V8: before ':' (Erlang: the module)
  std::string function_;  // V8: behind it
  std::optional<RegularExpression> expression_;
  // The same in jitscope's own spelling, when it is written in another one. One at most.
  std::vector<Pattern> other_spelling_;
};

// The `count` names nearest to what the pattern says (edit distance over the parts), best first,
// without repetition. For "no match" messages.
[[nodiscard]] std::vector<std::string> nearest_names(std::string_view pattern,
                                                     std::span<const MethodName* const> names,
                                                     size_t count = 5);

}  // namespace jitscope
