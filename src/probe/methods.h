// Which methods a probe is about: patterns against the bodies that are there and the methods that
// are loaded. Methods are told apart by their displayed name; their bodies come and go.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "code/code_body.h"
#include "code/pattern.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

Result<std::vector<Pattern>> parse_patterns(const std::vector<std::string>& texts);

using MethodNameList = std::vector<std::shared_ptr<const MethodName>>;
// CodeSource::loaded_methods, for those who may not need it.
using LoadedMethods = std::function<Result<MethodNameList>()>;

// Bodies whose names match any pattern (all of them when there is none), in the snapshot's order;
// `notes` gets what is to be said of patterns that match no body. not_found when none does: then it
// says whether such a method is loaded but not compiled, else the nearest names; usage when a
// pattern does not decide between classes.
Result<std::vector<const CodeBody*>> select_bodies(const Snapshot& snapshot,
                                                   std::vector<Pattern> patterns,
                                                   const LoadedMethods& loaded = {},
                                                   std::vector<std::string>* notes = nullptr);

class MethodSet {
 public:
  MethodSet(std::vector<Pattern> patterns, size_t most);

  // Adds what matches: methods with bodies, and loaded ones without. Errors: not_found with the
  // nearest names when no pattern matches anything, usage when more than `most` methods match.
  Status select(const Snapshot& snapshot,
                std::span<const std::shared_ptr<const MethodName>> loaded);

  // The method a body belongs to; a name that is new and matches is added while there is room.
  // npos when it does not match (or no room is left: then full() is true).
  size_t index_of(const CodeBody& body);
  [[nodiscard]] bool full() const { return full_; }

  // Could a method of this class and name (as HotSpot spells them) match? For load events.
  [[nodiscard]] bool may_match(std::string_view class_name, std::string_view method) const;

  [[nodiscard]] size_t size() const { return methods_.size(); }
  [[nodiscard]] const MethodName& name(size_t index) const { return *methods_[index]; }
  [[nodiscard]] const std::string& display(size_t index) const { return displays_[index]; }
  // Patterns that matched nothing in select(), with hints; not an error when another one matched.
  [[nodiscard]] const std::vector<std::string>& unmatched() const { return unmatched_; }
  // As select() settled them.
  [[nodiscard]] std::span<const Pattern> patterns() const { return patterns_; }
  // Of patterns that matched: which methods are not compiled yet, which pattern is taken for what.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

  static constexpr size_t npos = static_cast<size_t>(-1);

 private:
  size_t add(const std::shared_ptr<const MethodName>& name);

  std::vector<Pattern> patterns_;
  size_t most_;
  bool full_ = false;
  std::vector<std::shared_ptr<const MethodName>> methods_;
  std::vector<std::string> displays_;
  std::unordered_map<std::string, size_t> by_display_;
  // Names are shared between bodies and snapshots, so most bodies are decided by their pointer.
  std::unordered_map<const MethodName*, size_t> by_pointer_;
  std::vector<std::shared_ptr<const MethodName>> pinned_;  // keeps by_pointer_'s keys from reuse
  std::vector<std::string> unmatched_;
  std::vector<std::string> remarks_;
};

}  // namespace jitscope
