#include "probe/kernel_probes.h"

#include <algorithm>
#include <unordered_map>

#include "probe/eligibility.h"
#include "probe/register_slots.h"
#include "probe_shared.h"

namespace jitscope {
namespace {

static_assert(hit_words == JITSCOPE_STACK_WORDS);

Hit hit_of(const CallEvent& event) {
  const jitscope_call& call = *event.call;
  Hit hit;
  hit.time_ns = call.time_ns;
  hit.pid = call.pid;
  hit.tid = call.tid;
  hit.site = call.site;
  std::ranges::copy(call.registers, hit.registers.begin());
  hit.rax = call.rax;
  hit.sp = call.sp;
  hit.fp = call.fp;
  std::ranges::copy(call.words, hit.words.begin());
  hit.words_valid = call.words_valid != 0;
  hit.stack = event.stack;
  return hit;
}

}  // namespace

Result<std::shared_ptr<KernelProbes>> KernelProbes::open(const Process& process,
                                                         const HitOptions& options) {
  BpfSessionOptions session_options;
  session_options.events = options.events;
  session_options.stacks = options.stacks;
  session_options.events_a_second = options.events_a_second;
  session_options.every = options.every;
  JITSCOPE_ASSIGN(auto session, BpfSession::open(process, session_options));
  return std::make_shared<KernelProbes>(std::move(session));
}

Result<size_t> KernelProbes::poll(std::chrono::milliseconds wait,
                                  const std::function<void(const Hit&)>& on_hit) {
  return session_->poll(wait, [&](const CallEvent& event) { on_hit(hit_of(event)); });
}

HitCounts KernelProbes::counts(uint32_t site) const {
  const SiteCounts counts = session_->counts(site);
  return {counts.calls, counts.sent, counts.lost, counts.stale, counts.redispatched};
}

std::function<Status(const std::string&, std::span<const ReadySlot>)> KernelProbes::on_slots(
    std::span<const SiteRequest> requests) {
  std::unordered_map<uint32_t, HitCheck> checks;
  for (const SiteRequest& request : requests) {
    checks.emplace(request.id, state_check_of(request.body));
  }
  return register_slots(*session_,
                        [checks = std::move(checks)](uint32_t id) { return checks.at(id); });
}

void KernelProbes::drop_unplaced(std::span<const SiteRequest> requests,
                                 std::span<const SiteOutcome> outcomes) {
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!outcomes[i].placed) session_->remove(requests[i].id);
  }
}

}  // namespace jitscope
