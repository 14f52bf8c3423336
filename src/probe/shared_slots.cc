#include "probe/shared_slots.h"

#include <map>
#include <utility>

#include "base/clock.h"
#include "probe/eligibility.h"
#include "probe/foreign_slots.h"
#include "probe/image_home.h"

namespace jitscope {

std::vector<TraceSite*> SharedSlots::share(BpfSession& session,
                                           const std::vector<TraceSite*>& sites) {
  std::vector<const CodeBody*> bodies;
  for (const TraceSite* site : sites) bodies.push_back(&site->body);
  std::vector<ForeignSlot> slots = find_foreign_slots(process_, bodies);
  std::vector<TraceSite*> rest;
  for (size_t i = 0; i < sites.size(); ++i) {
    TraceSite& site = *sites[i];
    if (slots[i].address == 0 ||
        !session.add_uprobe(site.id, path_of_descriptor(slots[i].file->get()), slots[i].offset,
                            state_check_of(site.body))) {
      rest.push_back(&site);
      continue;
    }
    site.backend = Backend::trampoline;
    site.placed = site.active = true;
    site.shared = std::move(slots[i]);
    site.reason.clear();
    site.since_ns = looked_at_ns_ = monotonic_ns();
    ++shared_;
  }
  return rest;
}

std::vector<TraceSite*> SharedSlots::look(BpfSession& session, std::deque<TraceSite>& sites) {
  std::vector<TraceSite*> gone;
  const uint64_t now = monotonic_ns();
  shared_ = 0;
  std::map<const UniqueFd*, bool> images;
  for (TraceSite& site : sites) {
    if (!site.active || !site.shared) continue;
    const auto [image, first] = images.try_emplace(site.shared->file.get());
    if (first) image->second = image_is_there(process_, *site.shared);
    if (image->second && leads_to(process_, site.body.entry, *site.shared)) {
      ++shared_;
      continue;
    }
    session.remove(site.id);
    site.active = false;
    site.until_ns = looked_at_ns_;
    site.shared->file.reset();
    site.reason = "the other jitscope's jump went";
    gone.push_back(&site);
  }
  looked_at_ns_ = now;
  return gone;
}

}  // namespace jitscope
