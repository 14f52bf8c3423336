// KernelProbes: hits of uprobes and hardware breakpoints, counted and sent by eBPF.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "ebpf/bpf_session.h"
#include "probe/hit_source.h"
#include "probe/site.h"
#include "process/process.h"

namespace jitscope {

class KernelProbes final : public HitSource {
 public:
  static Result<std::shared_ptr<KernelProbes>> open(const Process& process,
                                                    const HitOptions& options);
  explicit KernelProbes(std::unique_ptr<BpfSession> session) : session_(std::move(session)) {}

  Result<size_t> poll(std::chrono::milliseconds wait,
                      const std::function<void(const Hit&)>& on_hit) override;
  int wait_for_hit(bool sleeps) override { return session_->wait_for_call(sleeps); }
  [[nodiscard]] HitCounts counts(uint32_t site) const override;

  [[nodiscard]] BpfSession& session() { return *session_; }
  // The hook for slots of these sites: uprobes on all or none of them. Each hit is counted only
  // while the state of its body says that it is entered. Must not outlive this object.
  std::function<Status(const std::string& file, std::span<const ReadySlot>)> on_slots(
      std::span<const SiteRequest> requests);
  // Takes the probes of those away that were not placed.
  void drop_unplaced(std::span<const SiteRequest> requests, std::span<const SiteOutcome> outcomes);

 private:
  std::unique_ptr<BpfSession> session_;
};

}  // namespace jitscope
