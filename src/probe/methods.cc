#include "probe/methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

namespace jitscope {
namespace {

std::string nearest_hint(const Pattern& pattern, const std::vector<const MethodName*>& names) {
  const auto near = nearest_names(pattern.text(), names);
  if (names.empty()) return "nothing with a name is there yet";
  if (near.empty()) return "no name there comes near it: jitscope methods -p PID lists them";
  return fmt::format("nearest: {}", fmt::join(near, ", "));
}

bool is_method(const CodeBody& body) {
  return body.tier != Tier::stub;
}

}  // namespace

Result<std::vector<Pattern>> parse_patterns(const std::vector<std::string>& texts) {
  std::vector<Pattern> patterns;
  for (const std::string& text : texts) {
    JITSCOPE_ASSIGN(Pattern pattern, Pattern::parse(text));
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

Result<std::vector<const CodeBody*>> select_bodies(const Snapshot& snapshot,
                                                   std::span<const Pattern> patterns) {
  std::vector<const CodeBody*> selected;
  for (const CodeBody& body : snapshot.bodies) {
    const bool wanted =
        patterns.empty() || std::ranges::any_of(patterns, [&](const Pattern& pattern) {
          return pattern.matches(*body.name);
        });
    if (wanted) selected.push_back(&body);
  }
  if (selected.empty() && !patterns.empty()) {
    std::vector<const MethodName*> names;
    for (const CodeBody& body : snapshot.bodies) names.push_back(body.name.get());
    return fail(ErrorKind::not_found,
                fmt::format("no code body matches '{}'", patterns.front().text()), {},
                nearest_hint(patterns.front(), names));
  }
  return selected;
}

MethodSet::MethodSet(std::vector<Pattern> patterns, size_t most)
    : patterns_(std::move(patterns)), most_(most) {
  for (const Pattern& pattern : patterns_) {
    const std::string& text = pattern.text();
    // What is no pattern without its parameters ("(int)") may match anything.
    auto shorter = Pattern::parse(text.substr(0, text.find('(')));
    if (!shorter) shorter = Pattern::parse("*");
    if (shorter) without_parameters_.push_back(std::move(*shorter));
  }
}

size_t MethodSet::add(const std::shared_ptr<const MethodName>& name) {
  std::string display = name->display();
  if (const auto found = by_display_.find(display); found != by_display_.end()) {
    return found->second;
  }
  if (methods_.size() >= most_) {
    full_ = true;
    return npos;
  }
  const size_t index = methods_.size();
  methods_.push_back(name);
  displays_.push_back(display);
  by_display_.emplace(std::move(display), index);
  return index;
}

Status MethodSet::select(const Snapshot& snapshot,
                         std::span<const std::shared_ptr<const MethodName>> loaded) {
  std::vector<std::shared_ptr<const MethodName>> candidates;
  std::unordered_set<const MethodName*> seen;
  for (const CodeBody& body : snapshot.bodies) {
    if (is_method(body) && seen.insert(body.name.get()).second) candidates.push_back(body.name);
  }
  for (const auto& name : loaded) {
    if (seen.insert(name.get()).second) candidates.push_back(name);
  }
  std::vector<bool> matched(patterns_.size(), false);
  std::vector<std::shared_ptr<const MethodName>> chosen;
  std::unordered_set<std::string> distinct;
  for (const auto& name : candidates) {
    bool wanted = false;
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (!patterns_[i].matches(*name)) continue;
      matched[i] = true;
      wanted = true;
    }
    if (wanted && distinct.insert(name->display()).second) chosen.push_back(name);
  }
  std::vector<const MethodName*> all;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    if (matched[i]) continue;
    if (all.empty()) {
      for (const auto& name : candidates) all.push_back(name.get());
    }
    unmatched_.push_back(fmt::format("no method matches '{}'; {}", patterns_[i].text(),
                                     nearest_hint(patterns_[i], all)));
  }
  if (patterns_.empty()) {
    return fail(ErrorKind::usage, "no pattern is given", {},
                "name a method, e.g. 'java.util.HashMap.put'");
  }
  if (chosen.empty()) {
    return fail(ErrorKind::not_found,
                fmt::format("no method matches '{}'", patterns_.front().text()), {},
                nearest_hint(patterns_.front(), all));
  }
  if (chosen.size() > most_) {
    return fail(ErrorKind::usage,
                fmt::format("{} methods match, more than {}", chosen.size(), most_), {},
                fmt::format("narrow the pattern, or ask for them with --max {}", chosen.size()));
  }
  for (const auto& name : chosen) add(name);
  return {};
}

size_t MethodSet::index_of(const CodeBody& body) {
  if (const auto found = by_pointer_.find(body.name.get()); found != by_pointer_.end()) {
    return found->second;
  }
  size_t index = npos;
  if (is_method(body) && std::ranges::any_of(patterns_, [&](const Pattern& pattern) {
        return pattern.matches(*body.name);
      })) {
    index = add(body.name);
  }
  // A runtime that makes and drops classes all day must not make this grow all day.
  constexpr size_t most_remembered = 200'000;
  if (pinned_.size() >= most_remembered) {
    by_pointer_.clear();
    pinned_.clear();
  }
  by_pointer_.emplace(body.name.get(), index);
  pinned_.push_back(body.name);
  return index;
}

bool MethodSet::may_match(std::string_view class_name, std::string_view method) const {
  // Load events carry at most so much of a name, and nothing of one whose page could not be read:
  // what is not known may match.
  constexpr size_t whole = 127;
  if (class_name.empty() || method.empty()) return true;
  if (class_name.size() >= whole || method.size() >= whole) return true;
  MethodName name;
  name.type = class_name;
  std::ranges::replace(name.type, '/', '.');
  name.function = method;
  name.raw = fmt::format("{}.{}", class_name, method);
  return std::ranges::any_of(without_parameters_,
                             [&](const Pattern& pattern) { return pattern.matches(name); });
}

}  // namespace jitscope
