#include "probe/breakpoints.h"

#include <tuple>
#include <utility>

#include "probe/code_range.h"
#include "probe/eligibility.h"
#include "probe/foreign_jump.h"

namespace jitscope {
namespace {

// Nothing else is in the way than the jump of another jitscope.
bool has_foreign_jump(const Process& process, const CodeBody& body, const Bytes& entry) {
  if (entry.empty() || entry.front() != std::byte{0xe9}) return false;
  Bytes other = entry;
  other.front() = std::byte{0x90};
  return why_not(body, other, Backend::breakpoint).empty() &&
         leads_into_live_image(process, body.entry);
}

std::string why_no_breakpoint(const Process& process, const CodeBody& body) {
  Bytes entry(16);
  if (body.entry == 0 || !process.memory().read(body.entry, entry)) entry.clear();
  if (has_foreign_jump(process, body, entry)) return {};
  return why_not(body, entry, Backend::breakpoint);
}

}  // namespace

Result<std::vector<SiteOutcome>> place_breakpoints(const Process& process, BpfSession& session,
                                                   const Snapshot& snapshot,
                                                   std::span<const SiteRequest> requests,
                                                   size_t used) {
  std::vector<SiteOutcome> outcomes(requests.size());
  JITSCOPE_ASSIGN(const auto maps, process.maps());
  for (size_t i = 0; i < requests.size(); ++i) {
    const CodeBody& body = requests[i].body;
    outcomes[i].reason = why_no_breakpoint(process, body);
    if (!outcomes[i].reason.empty()) continue;
    if (used >= breakpoint_registers) {
      outcomes[i].reason = "all 4 breakpoint registers of the CPU are in use";
      continue;
    }
    HitCheck check = hit_check_of(body);
    if (check.skip_if_jump) {
      std::tie(check.jump_low, check.jump_high) = code_range_around(body.entry, snapshot, maps);
    }
    Status status = session.add_breakpoint(requests[i].id, body.entry, check);
    if (status) {
      outcomes[i].placed = true;
      ++used;
    } else if (status.error().kind == ErrorKind::not_permitted) {
      return fail(std::move(status.error()));
    } else {
      outcomes[i].reason = to_string(status.error());
    }
  }
  return outcomes;
}

}  // namespace jitscope
