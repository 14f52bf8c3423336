// Parsing and matching of method patterns; see pattern.h for what users may write. Pure text,
// relies on MethodName alone. Both sides are normalised the same way, so that "::", "." and "#" are
// one, and in classes "/" too.
#include "code/pattern.h"

#include <algorithm>
#include <utility>

#include "code/display_name.h"
#include "code/java_spelling.h"

namespace jitscope {
namespace {

constexpr std::string_view kAnonymous = "(anonymous)";

std::string normalise(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#') {
      out += '.';
    } else if (text[i] == ':' && i + 1 < text.size() && text[i + 1] == ':') {
      out += '.';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool balanced(std::string_view text) {
  size_t open = 0;
  for (const char c : text) {
    if (c == '(') ++open;
    if (c == ')' && open-- == 0) return false;
  }
  return open == 0;
}

// Where the '(' of a parameter list at the end of a text stands; npos when it has none.
size_t parameter_list(std::string_view text) {
  if (text.ends_with(kAnonymous)) return std::string_view::npos;
  const size_t open = open_of_last(text);
  return open == 0 ? std::string_view::npos : open;
}

// "\"T.a)b\"": taken literally.
bool quoted(std::string_view text) {
  return text.size() > 2 && text.starts_with('"') && text.ends_with('"');
}

// The glob matches the path, or its last components.
bool path_match(std::string_view glob, std::string_view path) {
  if (glob_match(glob, path)) return true;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/' && glob_match(glob, path.substr(i + 1))) return true;
  }
  return false;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Takes ":digits" from the end of `text` and returns the digits; "" when there are none.
std::string_view take_number(std::string_view& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !all_digits(text.substr(colon + 1))) return {};
  const std::string_view digits = text.substr(colon + 1);
  text = text.substr(0, colon);
  return digits;
}

// "/put[A-Z]/"; a path of one part would be written without the slash at its end.
bool between_slashes(std::string_view text) {
  return text.size() > 2 && text.starts_with('/') && text.ends_with('/');
}

std::string normalised_type(std::string_view type) {
  std::string out = normalise(type);
  std::ranges::replace(out, '/', '.');
  return out;
}

// Of a name that has a class: classes are made at run time under names with a slash.
std::string qualified_name(const MethodName& name) {
  return normalised_type(name.type) + '.' + normalise(name.function);
}

}  // namespace

void Pattern::split_parameters() {
  const size_t open = parameter_list(whole_);
  if (open == std::string::npos) {
    name_ = whole_;
    return;
  }
  with_parameters_ = true;
  name_ = trimmed(std::string_view(whole_).substr(0, open));
  parameters_ =
      compact_parameters(std::string_view(whole_).substr(open + 1, whole_.size() - open - 2));
}

Result<Pattern> Pattern::parse(std::string_view text) {
  std::string_view wanted = trimmed(text);
  const bool literal = quoted(wanted);
  if (literal) wanted = wanted.substr(1, wanted.size() - 2);
  if (wanted.empty()) {
    return fail(ErrorKind::usage, "the pattern is empty", {},
                "name a method, e.g. 'java.util.HashMap.put', 'server.js:handle*', or '*' for all");
  }
  Pattern pattern;
  pattern.literal_ = literal;
  pattern.text_ = wanted;
  pattern.whole_ = normalise(wanted);
  if (!literal && between_slashes(wanted)) {
    JITSCOPE_ASSIGN(pattern.expression_,
                    RegularExpression::parse(wanted.substr(1, wanted.size() - 2)));
    return pattern;
  }
  if (!literal && !balanced(wanted)) {
    return fail(
        ErrorKind::usage, "the parentheses of the pattern are not balanced", std::string(wanted),
        "write parameters as in 'Type.method(int,java.lang.String)' or 'Type.method(*)', and "
        "quote the pattern for the shell; a name that has such parentheses itself goes in double "
        "quotes: '\"Type.a)b\"'");
  }
  pattern.split_parameters();
  const size_t colon = pattern.name_.rfind(':');
  if (colon != std::string::npos) {
    pattern.file_ = pattern.name_.substr(0, colon);
    pattern.function_ = pattern.name_.substr(colon + 1);
  }
  const auto shown = literal ? std::nullopt : java_spelling(pattern.whole_);
  if (shown) {
    Pattern other;
    other.text_ = pattern.text_;
    other.whole_ = *shown;
    other.split_parameters();
    pattern.other_spelling_.push_back(std::move(other));
  }
  return pattern;
}

bool Pattern::matches_located(const MethodName& name) const {
  const std::string function =
      name.function.empty() ? std::string(kAnonymous) : normalise(name.function);
  const std::string location = normalise(name.location);
  if (glob_match(whole_, function)) return true;
  // JavaScript has no parameter types to compare.
  if (!with_parameters_ || parameters_ == "*") {
    if (glob_match(name_, function)) return true;
    if (!file_.empty()) {
      std::string_view file = location;
      const std::string_view last = take_number(file);
      const std::string_view before = take_number(file);
      const std::string_view line = before.empty() ? last : before;
      if (path_match(file_, file) && glob_match(function_, function)) return true;
      if (all_digits(function_) && function_ == line && path_match(file_, file)) return true;
    }
  }
  if (with_parameters_ && !file_.empty()) {  // "a.js:even (number)": a part of the name
    const size_t colon = whole_.rfind(':');
    std::string_view file = location;
    while (!take_number(file).empty()) {
    }
    const std::string_view pattern(whole_);
    if (colon != std::string::npos && path_match(pattern.substr(0, colon), file) &&
        glob_match(pattern.substr(colon + 1), function)) {
      return true;
    }
  }
  if (whole_.find(':') != std::string::npos && path_match(whole_, location)) return true;
  // A glob over the displayed form; only with a blank, since a part of the name must not match.
  return whole_.find(' ') != std::string::npos && glob_match(whole_, function + ' ' + location);
}

bool Pattern::names(const MethodName& name) const {
  if (text_ == trimmed(name.raw) || text_ == name.display()) return true;
  if (!name.location.empty()) return whole_ == normalise(name.function);
  const std::string qualified = normalise(name.short_name());
  if (whole_ == qualified) return true;
  return with_parameters_ && name.has_parameters && name_ == qualified &&
         parameters_ == compact_parameters(normalise(name.parameters));
}

bool Pattern::ambiguous() const {
  // A lone star is nobody's name.
  return !literal_ && !expression_ && text_ != "*" &&
         (is_glob(text_) || text_.find_first_of("()") != std::string::npos);
}

bool Pattern::matches_qualified(const std::string& qualified, const MethodName& name) const {
  if (glob_match(whole_, qualified)) return true;
  if (name.has_parameters) {
    return glob_match(name_, qualified) &&
           (!with_parameters_ ||
            glob_match(parameters_, compact_parameters(normalise(name.parameters))));
  }
  return with_parameters_ && parameters_ == "*" && glob_match(name_, qualified);
}

bool Pattern::matches(const MethodName& name) const {
  if (expression_) return expression_->found_in(name.display());
  if (names(name)) return true;
  if (literal_) return false;
  if (form_ != Form::whole_name) return matches_form(name);
  if (!name.location.empty()) return matches_located(name);
  const std::string qualified = normalise(name.short_name());
  if (matches_qualified(qualified, name)) return true;
  // Erlang's spelling: "lists:map/2".
  if (!file_.empty() && !name.type.empty() && glob_match(file_ + '.' + function_, qualified)) {
    return true;
  }
  return !other_spelling_.empty() && !name.type.empty() &&
         other_spelling_.front().matches_qualified(qualified_name(name), name);
}

const std::string& Pattern::type_text() const {
  return other_spelling_.empty() ? name_ : other_spelling_.front().name_;
}

std::string_view Pattern::short_class() const {
  const std::string_view text = type_text();
  const size_t dot = text.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : text.substr(0, dot);
}

bool Pattern::matches_short(const MethodName& name) const {
  if (name.type.empty() || !name.location.empty()) return false;
  const Pattern& shown = other_spelling_.empty() ? *this : other_spelling_.front();
  const std::string_view type = short_class();
  const std::string_view function =
      std::string_view(shown.name_).substr(type.empty() ? 0 : type.size() + 1);
  if (!glob_match(function, normalise(name.function))) return false;
  if (shown.with_parameters_) {
    if (!name.has_parameters && shown.parameters_ != "*") return false;
    if (name.has_parameters &&
        !glob_match(shown.parameters_, compact_parameters(normalise(name.parameters)))) {
      return false;
    }
  }
  if (type.empty()) return true;
  const std::string whole = normalised_type(name.type);
  if (glob_match(type, whole)) return true;
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool boundary = whole[i] == '.' || whole[i] == '$';
    if (boundary && glob_match(type, std::string_view(whole).substr(i + 1))) return true;
  }
  return false;
}

void Pattern::take_class(std::string_view type) {
  form_ = Form::type;
  type_ = normalised_type(type);
}

void Pattern::take_short_of(std::string_view type) {
  form_ = Form::short_name_of_type;
  type_ = normalised_type(type);
}

bool Pattern::matches_form(const MethodName& name) const {
  if (!name.location.empty()) return false;
  if (form_ != Form::short_name && normalised_type(name.type) != type_) return false;
  return form_ == Form::type || matches_short(name);
}

bool Pattern::may_match(const MethodName& name) const {
  // What is no pattern without its parameters ("(int)") may match anything, and what an expression
  // finds may stand in the parameters.
  if (expression_ || whole_.starts_with('(')) return true;
  if (text_.starts_with(name.raw) &&
      (text_.size() == name.raw.size() || text_[name.raw.size()] == '(')) {
    return true;
  }
  const std::string qualified = normalise(name.short_name());
  if (literal_) return whole_ == qualified || (with_parameters_ && name_ == qualified);
  // Where the class is the right one, its methods are few.
  if (form_ == Form::short_name) return with_parameters_ || matches_short(name);
  if (form_ != Form::whole_name) return normalised_type(name.type) == type_;
  if (!other_spelling_.empty()) {
    const Pattern& other = other_spelling_.front();
    const std::string spelled = qualified_name(name);
    if (glob_match(other.name_, spelled) || glob_match(other.whole_, spelled)) return true;
  }
  return glob_match(name_, qualified) || glob_match(whole_, qualified) || matches(name);
}

}  // namespace jitscope
