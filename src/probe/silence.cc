// Looks for the methods among the bodies that calls enter, and in what was inlined into all others;
// see silence.h.
#include "probe/silence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/plural.h"
#include "code/inlined_copies.h"

namespace jitscope {
namespace {

constexpr size_t kMostMethods = 5;
constexpr size_t kMostHosts = 3;

bool is_entered(const CodeBody& body) {
  return body.state == BodyState::in_use || body.state == BodyState::unknown;
}

// The methods into whose code each of these was inlined.
std::map<std::string, std::set<std::string>> hosts_of(const std::set<std::string>& wanted,
                                                      const Snapshot& snapshot,
                                                      CodeSource& source) {
  std::vector<const CodeBody*> bodies;
  for (const CodeBody& body : snapshot.bodies) {
    if (body.tier != Tier::stub && is_entered(body)) bodies.push_back(&body);
  }
  std::map<std::string, std::set<std::string>> hosts;
  const auto details = source.details(bodies);
  if (!details) return hosts;
  for (size_t i = 0; i < bodies.size() && i < details->size(); ++i) {
    const auto& scopes = (*details)[i].scopes;
    if (!scopes) continue;
    for (const CodeScopes::Scope& scope : scopes->scopes) {
      if (scope.parent == CodeScopes::kNone) continue;
      const std::string& name = scopes->methods[scope.method].name;
      if (wanted.contains(name)) hosts[name].insert(bodies[i]->name->display());
    }
  }
  return hosts;
}

std::string hosts_text(const std::set<std::string>& hosts) {
  std::vector<std::string> shown;
  for (const std::string& host : hosts) {
    if (shown.size() < kMostHosts) shown.push_back(host);
  }
  const size_t more = hosts.size() - shown.size();
  return fmt::format("{}{}", fmt::join(shown, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

std::string reason(const std::string& method, size_t entered, size_t osr,
                   const std::set<std::string>& hosts, bool tells_inlining) {
  if (!hosts.empty()) {
    return fmt::format(
        "{}: {}; it is inlined into {}, where its calls are not seen: trace these instead, or see "
        "`jitscope methods --inlined-by`",
        method, entered == 0 ? "it has no code of its own" : "nobody has called its own code",
        hosts_text(hosts));
  }
  if (entered != 0) {
    return fmt::format(
        "{}: it is compiled and watched ({}): nobody has called it yet{}", method,
        plural(entered, "body", "bodies"),
        tells_inlining ? ", unless as a copy inlined into its callers that is too small for the "
                         "JVM to tell of it: trace a caller"
                       : "");
  }
  if (osr != 0) {
    return fmt::format(
        "{}: it runs in a loop that was compiled while it ran: no call enters that; its next call "
        "may",
        method);
  }
  return fmt::format("{}: {}", method,
                     tells_inlining
                         ? "it is not compiled yet: calls of it run in the interpreter and are not "
                           "seen until it was called often enough"
                         : "there is no code of it now");
}

}  // namespace

std::vector<std::string> why_silent(const MethodSet& methods, const Snapshot& snapshot,
                                    CodeSource& source) {
  std::set<std::string> wanted;
  for (size_t i = 0; i < methods.size() && i < kMostMethods; ++i) wanted.insert(methods.display(i));
  std::map<std::string, std::pair<size_t, size_t>> bodies;  // entered by calls, and OSR
  for (const CodeBody& body : snapshot.bodies) {
    if (!is_entered(body)) continue;
    const std::string name = body.name->display();
    if (!wanted.contains(name)) continue;
    ++(body.osr ? bodies[name].second : bodies[name].first);
  }
  const auto hosts = hosts_of(wanted, snapshot, source);
  std::vector<std::string> reasons;
  for (const std::string& method : wanted) {
    const auto found = hosts.find(method);
    reasons.push_back(reason(method, bodies[method].first, bodies[method].second,
                             found == hosts.end() ? std::set<std::string>{} : found->second,
                             source.knows_loaded_methods()));
  }
  if (methods.size() > wanted.size()) {
    reasons.push_back(plural(methods.size() - wanted.size(), "more method"));
  }
  return reasons;
}

}  // namespace jitscope
