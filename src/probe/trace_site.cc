#include "probe/trace_site.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/plural.h"

namespace jitscope {

std::vector<std::string> refusals(const std::deque<TraceSite>& sites) {
  std::map<std::string, size_t> reasons;
  for (const TraceSite& site : sites) {
    if (!site.placed && !site.reason.empty()) ++reasons[site.reason];
  }
  std::vector<std::string> lines;
  for (const auto& [reason, count] : reasons) {
    lines.push_back(fmt::format("{} not probed: {}", plural(count, "body", "bodies"), reason));
  }
  return lines;
}

void add_site(MethodReport& report, const TraceSite& site, const HitCounts& counts) {
  SiteReport each;
  each.address = site.body.entry;
  each.tier = site.body.tier;
  if (site.backend != nullptr) each.backend = site.backend->name;
  each.placed = site.placed;
  each.reason = site.reason;
  each.since_ns = site.since_ns;
  each.until_ns = site.until_ns;
  if (site.placed) {
    each.counts = counts;
    if (site.not_before_ns != 0 && site.since_ns > site.not_before_ns) {
      each.unseen_ns = site.since_ns - site.not_before_ns;
    }
    if (report.since_ns == 0 || site.since_ns < report.since_ns) report.since_ns = site.since_ns;
    if (site.active) ++report.bodies_probed;
  }
  report.calls += each.counts.calls;
  report.shown += each.counts.sent;
  report.lost += each.counts.lost;
  report.stale += each.counts.stale;
  report.redispatched += each.counts.redispatched;
  report.unseen_ns += each.unseen_ns;
  report.sites.push_back(std::move(each));
}

}  // namespace jitscope
