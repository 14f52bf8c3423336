// Sites of a trace that count in another jitscope's slots, and what becomes of them when it ends.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "ebpf/bpf_session.h"
#include "probe/trace_site.h"
#include "process/process.h"

namespace jitscope {

class SharedSlots {
 public:
  explicit SharedSlots(const Process& process) : process_(process) {}

  // Lets those of `sites` count in other jitscopes' slots whose entries lead into one. The rest.
  std::vector<TraceSite*> share(BpfSession& session, const std::vector<TraceSite*>& sites);
  // Any at the last look.
  [[nodiscard]] bool any() const { return shared_ != 0; }
  // Those whose entries do not lead there any more: no longer active, seen until the look before.
  std::vector<TraceSite*> look(BpfSession& session, std::deque<TraceSite>& sites);

 private:
  const Process& process_;
  size_t shared_ = 0;
  uint64_t looked_at_ns_ = 0;
};

}  // namespace jitscope
