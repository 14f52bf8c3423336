// Sites of a trace that count in another jitscope's slots, and what becomes of them when it ends.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ebpf/bpf_session.h"
#include "probe/foreign_slots.h"
#include "probe/site.h"
#include "probe/site_placer.h"
#include "probe/trace_site.h"
#include "process/process.h"

namespace jitscope {

class SharedSlots {
 public:
  explicit SharedSlots(const Process& process) : process_(process) {}

  // Lets those of the sites count in other jitscopes' slots whose entries lead into one. One
  // outcome a request; the rest is not placed, without a reason.
  std::vector<SiteOutcome> share(BpfSession& session, std::span<const SiteRequest> requests);
  [[nodiscard]] bool any() const { return !shared_.empty(); }
  // Those whose entries do not lead there any more: removed from the session, seen until the look
  // before.
  std::vector<LostSite> look(BpfSession& session);
  // The site was removed.
  void forget(uint32_t id) { shared_.erase(id); }

 private:
  struct Shared {
    uint64_t entry = 0;
    ForeignSlot slot;
  };

  const Process& process_;
  std::map<uint32_t, Shared> shared_;  // by site
  uint64_t looked_at_ns_ = 0;
};

}  // namespace jitscope
