#include "probe/shared_slots.h"

#include <utility>

#include "base/clock.h"
#include "probe/eligibility.h"
#include "probe/image_home.h"

namespace jitscope {

std::vector<SiteOutcome> SharedSlots::share(BpfSession& session,
                                            std::span<const SiteRequest> requests) {
  std::vector<SiteOutcome> outcomes(requests.size());
  std::vector<const CodeBody*> bodies;
  for (const SiteRequest& request : requests) bodies.push_back(&request.body);
  std::vector<ForeignSlot> slots = find_foreign_slots(process_, bodies);
  for (size_t i = 0; i < requests.size(); ++i) {
    const SiteRequest& request = requests[i];
    if (slots[i].address == 0 ||
        !session.add_uprobe(request.id, path_of_descriptor(slots[i].file->get()), slots[i].offset,
                            state_check_of(request.body))) {
      continue;
    }
    outcomes[i].placed = outcomes[i].borrowed = true;
    outcomes[i].since_ns = looked_at_ns_ = monotonic_ns();
    shared_[request.id] = {request.body.entry, std::move(slots[i])};
  }
  return outcomes;
}

std::vector<LostSite> SharedSlots::look(BpfSession& session) {
  std::vector<LostSite> gone;
  if (shared_.empty()) return gone;
  const uint64_t now = monotonic_ns();
  std::map<const UniqueFd*, bool> images;
  for (const auto& [id, site] : shared_) {
    const auto [image, first] = images.try_emplace(site.slot.file.get());
    if (first) image->second = image_is_there(process_, site.slot);
    if (image->second && leads_to(process_, site.entry, site.slot)) continue;
    session.remove(id);
    gone.push_back({id, looked_at_ns_, "the other jitscope's jump went"});
  }
  for (const LostSite& site : gone) shared_.erase(site.id);
  looked_at_ns_ = now;
  return gone;
}

}  // namespace jitscope
