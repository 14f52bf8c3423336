#include "probe/trace_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/clock.h"

namespace jitscope {
namespace {

constexpr unsigned most_held_looks = 10;  // soon after each other, then at the usual pace

}  // namespace

const Backend* TraceSites::next_to(const Backend& backend, const CodeBody& body) const {
  return choice_.automatic ? next_backend(backend, backends_, process_, source_, body) : nullptr;
}

PlaceReport TraceSites::place_by(const Backend& backend, const std::vector<TraceSite*>& sites) {
  const auto placer = placers_.of(backend);
  if (!placer) {
    PlaceReport failed;
    failed.outcomes.resize(sites.size());
    failed.status = fail(placer.error());
    return failed;
  }
  std::vector<SiteRequest> requests;
  for (const TraceSite* site : sites) requests.push_back({site->id, site->body, 0});
  PlaceReport report = (*placer)->place(requests);
  const uint64_t now = monotonic_ns();
  for (size_t i = 0; i < sites.size(); ++i) {
    const SiteOutcome& outcome = report.outcomes[i];
    if (!report.status && !outcome.placed) continue;
    TraceSite& site = *sites[i];
    site.backend = &backend;
    site.placer = *placer;
    site.placed = site.active = outcome.placed;
    site.borrowed = outcome.borrowed;
    site.reason = outcome.reason;
    if (outcome.placed) {
      site.since_ns = outcome.since_ns != 0 ? outcome.since_ns : now;
    } else if (site.not_before_ns == 0) {
      site.not_before_ns = now;  // unseen from here on
    }
  }
  return report;
}

Status TraceSites::place(const std::vector<TraceSite*>& sites, const Backend& backend) {
  PlaceReport report = place_by(backend, sites);
  std::ranges::move(report.notes, std::back_inserter(notes_));
  std::vector<TraceSite*> unplaced;
  std::vector<TraceSite*> refused;  // not for now only
  for (size_t i = 0; i < sites.size(); ++i) {
    TraceSite& site = *sites[i];
    const SiteOutcome& outcome = report.outcomes[i];
    if (outcome.placed) {
      if (outcome.over_foreign_jump && &backend != choice_.backend) {
        notes_.push_back(fmt::format(
            "another jitscope has jumps at these entries: they are counted by {}s", backend.name));
      }
      continue;
    }
    unplaced.push_back(&site);
    if (!report.status) continue;
    if (outcome.retry) {
      tracker_.retry(site.body);
    } else if (site.body.not_probeable.empty()) {
      refused.push_back(&site);
    }
  }
  if (!report.status) return place_otherwise(unplaced, backend, std::move(report));
  held_looks_ = 0;
  const Backend* const other = refused.empty() ? nullptr : next_to(backend, refused.front()->body);
  return other == nullptr ? Status() : fall_back(refused, *other);
}

// What cannot work here at all makes way for the next backend.
Status TraceSites::place_otherwise(const std::vector<TraceSite*>& sites, const Backend& backend,
                                   PlaceReport failed) {
  Error error = std::move(failed.status.error());
  const Backend* const other =
      failed.lacks.empty() || sites.empty() ? nullptr : next_to(backend, sites.front()->body);
  if (other == nullptr || error.kind != ErrorKind::not_possible ||
      !check_number(*other, sites.size(), source_)) {
    return all_failed(sites, std::move(error));
  }
  choice_.backend = other;
  choice_.reason = fmt::format("{}: {}", failed.lacks, to_string(error));
  return place(sites, *other);
}

// Nothing was changed; while the trace runs these are tried again at the next regular look.
Status TraceSites::all_failed(const std::vector<TraceSite*>& sites, Error error) {
  for (TraceSite* site : sites) {
    site->reason = to_string(error);
    tracker_.offer_again(site->body);
  }
  if (held_by_tracer(error) && held_looks_++ < most_held_looks) tracker_.look_soon();
  return fail(std::move(error));
}

Status TraceSites::fall_back(const std::vector<TraceSite*>& sites, const Backend& backend) {
  std::vector<std::string> first_reasons;
  for (const TraceSite* site : sites) first_reasons.push_back(site->reason);
  JITSCOPE_TRY(place(sites, backend));
  for (size_t i = 0; i < sites.size(); ++i) {
    TraceSite& site = *sites[i];
    if (site.placed || site.reason == first_reasons[i]) continue;
    site.reason = fmt::format("{}; {}", first_reasons[i], site.reason);
  }
  return {};
}

// Their bodies are still there: they get sites again.
void TraceSites::look_for_lost() {
  for (LostSite& lost : placers_.look()) {
    TraceSite& site = sites_[lost.id];
    site.active = false;
    site.until_ns = lost.until_ns;
    site.reason = std::move(lost.reason);
    tracker_.offer_again(site.body);
    tracker_.look_soon();
  }
}

void TraceSites::retire(const std::vector<std::pair<uint64_t, uint64_t>>& gone) {
  const uint64_t now = monotonic_ns();
  for (TraceSite& site : sites_) {
    if (!site.active) continue;
    const std::pair key{site.body.address, site.body.version};
    if (std::ranges::find(gone, key) == gone.end()) continue;
    site.placer->remove(site.id);
    site.active = false;
    site.until_ns = now;
  }
}

Status TraceSites::take(BodyTracker::Change change) {
  // The new bodies come first: taking a probe away costs milliseconds in which calls would be
  // missed.
  const bool gone_first = std::ranges::any_of(
      sites_, [](const TraceSite& site) { return site.active && site.placer->scarce(); });
  if (gone_first) retire(change.gone);
  const Status status = place_appeared(std::move(change.appeared));
  if (!gone_first) retire(change.gone);
  return status;
}

TraceSite& TraceSites::site_of(BodyTracker::Found found) {
  TraceSite* site = nullptr;
  for (TraceSite& known : sites_) {
    if (known.body.address != found.body.address || known.body.version != found.body.version) {
      continue;
    }
    // One that could not be placed before comes again: it keeps its number. One that was lost was
    // seen up to then.
    if (!known.placed) {
      site = &known;
    } else if (known.borrowed) {
      found.not_before_ns = known.until_ns;
    }
  }
  if (site == nullptr) {
    site = &sites_.emplace_back();
    site->id = static_cast<uint32_t>(sites_.size() - 1);
    site->not_before_ns = found.not_before_ns;
  }
  site->method = found.method;
  site->body = std::move(found.body);
  return *site;
}

Status TraceSites::place_appeared(std::vector<BodyTracker::Found> appeared) {
  std::map<const Backend*, std::vector<TraceSite*>> fresh;
  for (BodyTracker::Found& found : appeared) {
    TraceSite& site = site_of(std::move(found));
    const Backend& backend = backend_for(choice_, backends_, process_, source_, site.body);
    site.reason = why_not_taken(backend, site.body);
    if (site.reason.empty()) {
      fresh[&backend].push_back(&site);
    } else {
      site.backend = &backend;
    }
  }
  Status status;
  for (const auto& [backend, sites] : fresh) {
    Status placed = place(sites, *backend);
    if (status) status = std::move(placed);
  }
  return status;
}

size_t TraceSites::of_choice(const std::vector<BodyTracker::Found>& found) const {
  return static_cast<size_t>(std::ranges::count_if(found, [&](const BodyTracker::Found& each) {
    return &backend_for(choice_, backends_, process_, source_, each.body) == choice_.backend;
  }));
}

void TraceSites::remove_all() {
  for (const TraceSite& site : sites_) {
    if (site.placer != nullptr) site.placer->remove(site.id);
  }
}

}  // namespace jitscope
