#include "code/pattern_settle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/plural.h"

namespace jitscope {
namespace {

using Names = std::span<const MethodName* const>;

std::string comparable_type(std::string_view type) {
  std::string out;
  for (size_t i = 0; i < type.size(); ++i) {
    if (type.substr(i, 2) == "::") {
      out += '.';
      ++i;
    } else {
      out += type[i] == '/' || type[i] == '#' ? '.' : type[i];
    }
  }
  return out;
}

// How `wanted` stands at the end of a class's name: 0 not at all, 1 behind a `$` (Outer$Inner), 2
// behind the package, 3 it is the whole name.
int end_of_type(std::string_view wanted, std::string_view type) {
  const std::string whole = comparable_type(type);
  if (!whole.ends_with(wanted)) return 0;
  if (whole.size() == wanted.size()) return 3;
  const char before = whole[whole.size() - wanted.size() - 1];
  return before == '.' ? 2 : before == '$' ? 1 : 0;
}

// The classes that fit best, with their numbers of methods.
class Classes {
 public:
  void add(const MethodName& name, int rank) {
    if (rank < rank_) return;
    if (rank > rank_) methods_.clear();
    rank_ = rank;
    methods_[name.type].insert(name.display());
  }
  [[nodiscard]] size_t size() const { return methods_.size(); }
  [[nodiscard]] const std::string& only() const { return methods_.begin()->first; }
  [[nodiscard]] size_t methods_of_only() const { return methods_.begin()->second.size(); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [type, methods] : methods_) all.push_back(type);
    return all;
  }

 private:
  int rank_ = 1;
  std::map<std::string, std::set<std::string>> methods_;
};

Classes classes_called(const Pattern& pattern, Names names, int least) {
  Classes found;
  const std::string& wanted = pattern.type_text();
  if (pattern.has_parameters() || is_glob(wanted)) return found;
  for (const MethodName* name : names) {
    if (name->type.empty() || !name->location.empty()) continue;
    const int rank = end_of_type(wanted, name->type);
    if (rank >= least) found.add(*name, rank);
  }
  return found;
}

Error undecided(const Pattern& pattern, const Classes& classes, std::string_view method,
                std::string_view all) {
  constexpr size_t most = 6;
  std::vector<std::string> shown;
  for (const std::string& type : classes.names()) {
    if (shown.size() < most) shown.push_back(type + std::string(method));
  }
  std::string more;
  if (classes.size() > most) more = fmt::format(" and {} more", classes.size() - most);
  return {ErrorKind::usage,
          fmt::format("'{}' may mean {} of {} classes", pattern.text(),
                      method.empty() ? "each" : "methods", classes.size()),
          {},
          fmt::format("write which: {}{}; or all of them: '{}'", fmt::join(shown, ", "), more, all),
          0};
}

std::string about_class(const Pattern& pattern, const Classes& classes) {
  const std::string known = plural(classes.methods_of_only(), "known method");
  if (pattern.text() == classes.only()) {
    return fmt::format("'{}' is a class: all its methods are meant, {}", pattern.text(), known);
  }
  return fmt::format("'{}' is the class {}: all its methods are meant, {}", pattern.text(),
                     classes.only(), known);
}

// True when it was the name of a class, of which `least` had to be right (end_of_type()).
Result<bool> settle_class(Pattern& pattern, Names names, int least,
                          std::vector<std::string>& remarks) {
  const Classes classes = classes_called(pattern, names, least);
  if (classes.size() == 0) return false;
  if (classes.size() > 1) {
    return fail(undecided(pattern, classes, "", fmt::format("*.{}.*", pattern.type_text())));
  }
  remarks.push_back(about_class(pattern, classes));
  pattern.take_class(classes.only());
  return true;
}

Result<bool> settle_method(Pattern& pattern, Names names, std::vector<std::string>& remarks) {
  const std::string type(pattern.short_class());
  const std::string function = pattern.type_text().substr(type.empty() ? 0 : type.size() + 1);
  const bool any_class = is_glob(type) || (type.empty() && is_glob(function));
  Classes classes;
  for (const MethodName* name : names) {
    if (!pattern.matches_short(*name)) continue;
    const int rank = any_class || type.empty() ? 1 : end_of_type(type, name->type);
    classes.add(*name, std::max(rank, 1));
  }
  if (classes.size() == 0) return false;
  if (any_class) {
    remarks.push_back(fmt::format("'{}' is taken for the end of a name: of methods of {}",
                                  pattern.text(), plural(classes.size(), "class", "classes")));
    pattern.take_short();
    return true;
  }
  if (classes.size() > 1) {
    return fail(undecided(pattern, classes, "." + function, "*." + pattern.type_text()));
  }
  remarks.push_back(
      fmt::format("'{}' is taken for {}.{}", pattern.text(), classes.only(), function));
  pattern.take_short_of(classes.only());
  return true;
}

Status settle(Pattern& pattern, Names names, std::vector<std::string>& remarks) {
  if (!pattern.may_be_short()) return {};
  const auto matches = [&](const MethodName* name) { return pattern.matches(*name); };
  const auto is_name = [&](const MethodName* name) { return pattern.names(*name); };
  if (pattern.ambiguous() && std::ranges::any_of(names, is_name)) {
    const bool others = std::ranges::any_of(
        names, [&](const MethodName* name) { return matches(name) && !is_name(name); });
    pattern.take_literally();
    if (!others) return {};
    remarks.push_back(fmt::format(
        "'{}' is the name of a method as it stands: what else it would match is left out",
        pattern.text()));
    return {};
  }
  if (std::ranges::any_of(names, matches)) return {};
  JITSCOPE_ASSIGN(bool settled, settle_class(pattern, names, 3, remarks));
  if (settled) return {};
  JITSCOPE_ASSIGN(settled, settle_method(pattern, names, remarks));
  if (settled) return {};
  JITSCOPE_ASSIGN(settled, settle_class(pattern, names, 1, remarks));
  return {};
}

}  // namespace

Result<std::vector<std::string>> settle_patterns(std::span<Pattern> patterns, Names names) {
  std::vector<std::string> remarks;
  for (Pattern& pattern : patterns) JITSCOPE_TRY(settle(pattern, names, remarks));
  return remarks;
}

}  // namespace jitscope
