// Finds inlined copies; see inlined_copies.h.
#include "code/inlined_copies.h"

#include <algorithm>
#include <map>
#include <utility>

#include "code/display_name.h"

namespace jitscope {
namespace {

// Scopes that are the same place by the same calls share a number, so that a call path is the
// number of its last call: a compiler writes a scope again whenever its variables lie elsewhere.
std::vector<uint32_t> place_numbers(const CodeScopes& scopes) {
  using Place = std::pair<std::pair<uint32_t, uint32_t>, int32_t>;  // caller's number, method, bci
  std::map<Place, uint32_t> numbers;
  std::vector<uint32_t> result;
  result.reserve(scopes.scopes.size());
  for (const CodeScopes::Scope& scope : scopes.scopes) {
    const uint32_t caller =
        scope.parent == CodeScopes::kNone ? CodeScopes::kNone : result[scope.parent];
    const Place place{{caller, scope.method}, scope.bci};
    result.push_back(
        numbers.try_emplace(place, static_cast<uint32_t>(numbers.size())).first->second);
  }
  return result;
}

}  // namespace

std::vector<InlinedCopy> inlined_copies(const CodeScopes& scopes,
                                        const std::function<bool(uint32_t)>& wanted) {
  std::vector<bool> takes(scopes.methods.size());
  for (uint32_t i = 0; i < takes.size(); ++i) takes[i] = wanted(i);
  const std::vector<uint32_t> numbers = place_numbers(scopes);
  std::vector<InlinedCopy> copies;
  std::map<std::pair<uint32_t, uint32_t>, size_t> index;  // the call's number, the method
  for (const CodeScopes::Range& range : scopes.ranges) {
    for (uint32_t at = range.scope; scopes.scopes[at].parent != CodeScopes::kNone;
         at = scopes.scopes[at].parent) {
      const CodeScopes::Scope& scope = scopes.scopes[at];
      if (!takes[scope.method]) continue;
      const auto [place, added] =
          index.try_emplace({numbers[scope.parent], scope.method}, copies.size());
      if (added) {
        InlinedCopy copy;
        copy.method = scope.method;
        for (uint32_t call = scope.parent; call != CodeScopes::kNone;
             call = scopes.scopes[call].parent) {
          copy.callers.push_back(call);
        }
        std::ranges::reverse(copy.callers);
        copies.push_back(std::move(copy));
      }
      InlinedCopy& copy = copies[place->second];
      ++copy.ranges;
      copy.bytes += range.end - range.begin;
      copy.exact = copy.exact && range.exact;
      if (scope.line != 0) copy.lines.push_back(scope.line);
    }
  }
  for (InlinedCopy& copy : copies) {
    std::ranges::sort(copy.lines);
    copy.lines.erase(std::unique(copy.lines.begin(), copy.lines.end()), copy.lines.end());
  }
  return copies;
}

MethodName method_name_of_display(std::string_view display) {
  MethodName name;
  name.raw = display;
  const DisplayParts parts = split_display(display);
  name.type = parts.type;
  name.function = parts.function;
  name.parameters = parts.parameters;
  name.has_parameters = parts.has_parameters;
  return name;
}

}  // namespace jitscope
