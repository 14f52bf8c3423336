// Parsing and matching of method patterns; see pattern.h for what users may write. Pure text,
// relies on MethodName alone. Both sides are normalised the same way, so that "::", "." and "#" are
// one.
#include "code/pattern.h"

#include <algorithm>
#include <utility>

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

std::string without_blanks(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::ranges::copy_if(text, std::back_inserter(out), [](char c) { return c != ' ' && c != '\t'; });
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

// Where the '(' of a parameter list at the end of a balanced text stands; npos when it has none.
size_t parameter_list(std::string_view text) {
  if (!text.ends_with(')') || text.ends_with(kAnonymous)) return std::string_view::npos;
  size_t open = 0;
  for (size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++open;
    if (text[i] == '(' && --open == 0) return i == 0 ? std::string_view::npos : i;
  }
  return std::string_view::npos;
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

}  // namespace

Result<Pattern> Pattern::parse(std::string_view text) {
  const std::string_view wanted = trimmed(text);
  if (wanted.empty()) {
    return fail(ErrorKind::usage, "the pattern is empty", {},
                "name a method, e.g. 'java.util.HashMap.put', 'server.js:handle*', or '*' for all");
  }
  if (!balanced(wanted)) {
    return fail(
        ErrorKind::usage, "the parentheses of the pattern are not balanced", std::string(wanted),
        "write parameters as in 'Type.method(int,java.lang.String)' or 'Type.method(*)', and "
        "quote the pattern for the shell");
  }
  Pattern pattern;
  pattern.text_ = wanted;
  pattern.whole_ = normalise(wanted);
  const size_t open = parameter_list(pattern.whole_);
  if (open == std::string::npos) {
    pattern.name_ = pattern.whole_;
  } else {
    pattern.with_parameters_ = true;
    pattern.name_ = trimmed(std::string_view(pattern.whole_).substr(0, open));
    pattern.parameters_ = without_blanks(
        std::string_view(pattern.whole_).substr(open + 1, pattern.whole_.size() - open - 2));
  }
  const size_t colon = pattern.name_.rfind(':');
  if (colon != std::string::npos) {
    pattern.file_ = pattern.name_.substr(0, colon);
    pattern.function_ = pattern.name_.substr(colon + 1);
  }
  return pattern;
}

bool Pattern::matches_located(const MethodName& name) const {
  const std::string function =
      name.function.empty() ? std::string(kAnonymous) : normalise(name.function);
  const std::string location = normalise(name.location);
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
  if (whole_.find(':') != std::string::npos && path_match(whole_, location)) return true;
  // A glob over the displayed form; only with a blank, since a part of the name must not match.
  return whole_.find(' ') != std::string::npos && glob_match(whole_, function + ' ' + location);
}

bool Pattern::matches(const MethodName& name) const {
  if (text_ == trimmed(name.raw) || text_ == name.display()) return true;
  if (!name.location.empty()) return matches_located(name);
  const std::string qualified = normalise(name.short_name());
  if (name.has_parameters) {
    return glob_match(name_, qualified) &&
           (!with_parameters_ || glob_match(parameters_, without_blanks(name.parameters)));
  }
  if (glob_match(whole_, qualified)) return true;
  // Erlang's spelling: "lists:map/2".
  if (!file_.empty() && !name.type.empty() && glob_match(file_ + '.' + function_, qualified)) {
    return true;
  }
  return with_parameters_ && parameters_ == "*" && glob_match(name_, qualified);
}

bool glob_match(std::string_view glob, std::string_view text) {
  size_t g = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;  // the last '*' seen, and how much of the text it covers
  size_t covered = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      covered = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++covered;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

}  // namespace jitscope
