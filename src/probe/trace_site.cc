#include "probe/trace_site.h"

#include <utility>

namespace jitscope {

void add_site(MethodReport& report, const TraceSite& site, const SiteCounts& counts) {
  SiteReport each;
  each.address = site.body.entry;
  each.tier = site.body.tier;
  each.backend = site.backend;
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
