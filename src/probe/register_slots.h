// The hook that backends call when slots are ready: uprobes of a session on them, all or none.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ebpf/bpf_session.h"
#include "probe/site.h"

namespace jitscope {

// `check_of` says what is checked at each hit of a site; without it nothing is. The session must
// outlive the result.
inline std::function<Status(const std::string&, std::span<const ReadySlot>)> register_slots(
    BpfSession& session, std::function<HitCheck(uint32_t)> check_of = {}) {
  return [&session, check_of = std::move(check_of)](const std::string& file,
                                                    std::span<const ReadySlot> slots) {
    std::vector<UprobeSite> sites;
    sites.reserve(slots.size());
    for (const ReadySlot& slot : slots) {
      sites.push_back({slot.id, slot.offset, check_of ? check_of(slot.id) : HitCheck{}});
    }
    return session.add_uprobes(file, sites);
  };
}

}  // namespace jitscope
