#include "probe/methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>

#include "code/pattern_settle.h"

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

// The names of bodies, then those of methods that are loaded only; each once.
class Candidates {
 public:
  static Candidates of(const Snapshot& snapshot, bool stubs) {
    Candidates all;
    for (const CodeBody& body : snapshot.bodies) {
      if (stubs || is_method(body)) all.take(body.name);
    }
    all.compiled_ = all.names_.size();
    return all;
  }
  void add(std::span<const std::shared_ptr<const MethodName>> loaded) {
    for (const auto& name : loaded) take(name);
  }
  [[nodiscard]] const MethodNameList& names() const { return names_; }
  [[nodiscard]] std::span<const std::shared_ptr<const MethodName>> loaded_only() const {
    return std::span(names_).subspan(compiled_);
  }
  [[nodiscard]] std::vector<const MethodName*> pointers() const {
    std::vector<const MethodName*> result;
    for (const auto& name : names_) result.push_back(name.get());
    return result;
  }

 private:
  void take(const std::shared_ptr<const MethodName>& name) {
    if (seen_.insert(name.get()).second) names_.push_back(name);
  }

  MethodNameList names_;
  size_t compiled_ = 0;
  std::unordered_set<const MethodName*> seen_;
};

std::string unknown_uncompiled(const Error& error) {
  return "methods that are not compiled yet are not known: " + to_string(error);
}

// "T.f(int) and 3 more are loaded, but not compiled yet"; "" when the pattern matches none of them.
std::string uncompiled(const Pattern& pattern, const Candidates& all) {
  std::string first;
  size_t more = 0;
  for (const auto& name : all.loaded_only()) {
    if (!pattern.matches(*name)) continue;
    if (first.empty()) {
      first = name->display();
    } else {
      ++more;
    }
  }
  if (first.empty()) return {};
  return more == 0 ? fmt::format("{} is loaded, but not compiled yet", first)
                   : fmt::format("{} and {} more are loaded, but not compiled yet", first, more);
}

// Why no body matches: the one answer that every verb gives.
Error without_code(const Pattern& pattern, const Candidates& all) {
  if (const std::string loaded = uncompiled(pattern, all); !loaded.empty()) {
    return {ErrorKind::not_found,
            fmt::format("no compiled code matches '{}': {}", pattern.text(), loaded),
            {},
            "its calls are interpreted, or inlined into their callers (methods --inlined-by); "
            "`jitscope trace` waits for its first compiled body",
            0};
  }
  return {ErrorKind::not_found,
          fmt::format("no method matches '{}'", pattern.text()),
          {},
          nearest_hint(pattern, all.pointers()),
          0};
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
                                                   std::vector<Pattern> patterns,
                                                   const LoadedMethods& loaded,
                                                   std::vector<std::string>* notes) {
  std::vector<const CodeBody*> selected;
  if (patterns.empty()) {
    for (const CodeBody& body : snapshot.bodies) selected.push_back(&body);
    return selected;
  }
  const Candidates compiled = Candidates::of(snapshot, true);
  Candidates all = compiled;
  std::vector<std::string> said;
  const auto without = [&](const Pattern& pattern) {
    return std::ranges::none_of(compiled.names(),
                                [&](const auto& name) { return pattern.matches(*name); });
  };
  // What part of a name is whose is decided among all methods, as it is for a trace.
  if (loaded && std::ranges::any_of(patterns, without)) {
    auto names = loaded();
    if (names) {
      all.add(*names);
    } else {
      said.push_back(unknown_uncompiled(names.error()));
    }
  }
  JITSCOPE_ASSIGN(auto remarks, settle_patterns(patterns, all.pointers()));
  std::ranges::move(remarks, std::back_inserter(said));
  std::vector<bool> matched(patterns.size(), false);
  std::unordered_set<const MethodName*> wanted;
  for (const auto& name : compiled.names()) {
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (!patterns[i].matches(*name)) continue;
      matched[i] = true;
      wanted.insert(name.get());
    }
  }
  for (const CodeBody& body : snapshot.bodies) {
    if (wanted.contains(body.name.get())) selected.push_back(&body);
  }
  std::optional<Error> first;
  if (std::ranges::count(matched, true) != std::ssize(patterns)) {
    Candidates methods = Candidates::of(snapshot, false);
    methods.add(all.loaded_only());
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (matched[i]) continue;
      Error error = without_code(patterns[i], methods);
      said.push_back(to_string(error));
      if (!first) first = std::move(error);
    }
  }
  if (selected.empty() && first) return fail(std::move(*first));
  if (notes != nullptr) std::ranges::move(said, std::back_inserter(*notes));
  return selected;
}

MethodSet::MethodSet(std::vector<Pattern> patterns, size_t most)
    : patterns_(std::move(patterns)), most_(most) {}

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
  if (patterns_.empty()) {
    return fail(ErrorKind::usage, "no pattern is given", {},
                "name a method, e.g. 'java.util.HashMap.put'");
  }
  Candidates candidates = Candidates::of(snapshot, false);
  const size_t compiled = candidates.names().size();
  candidates.add(loaded);
  JITSCOPE_ASSIGN(remarks_, settle_patterns(patterns_, candidates.pointers()));
  enum class Found : uint8_t { nothing, in_memory, in_code };
  std::vector<Found> found(patterns_.size(), Found::nothing);
  MethodNameList chosen;
  std::unordered_set<std::string> distinct;
  for (size_t at = 0; at < candidates.names().size(); ++at) {
    const auto& name = candidates.names()[at];
    bool wanted = false;
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (!patterns_[i].matches(*name)) continue;
      found[i] = std::max(found[i], at < compiled ? Found::in_code : Found::in_memory);
      wanted = true;
    }
    if (wanted && distinct.insert(name->display()).second) chosen.push_back(name);
  }
  std::optional<Error> first;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    if (found[i] == Found::in_memory) remarks_.push_back(uncompiled(patterns_[i], candidates));
    if (found[i] != Found::nothing) continue;
    Error error = without_code(patterns_[i], candidates);
    unmatched_.push_back(to_string(error));
    if (!first) first = std::move(error);
  }
  if (chosen.empty() && first) return fail(std::move(*first));
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
  return std::ranges::any_of(patterns_,
                             [&](const Pattern& pattern) { return pattern.may_match(name); });
}

}  // namespace jitscope
