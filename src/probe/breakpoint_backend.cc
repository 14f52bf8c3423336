// The breakpoint backend: some bodies get one of the CPU's registers. Nothing in the target is
// changed. Bodies at whose entry another jitscope has a jump are taken too: a breakpoint fires
// whatever lies at the entry.
#include <fmt/format.h>

#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "arch/machine.h"
#include "probe/backend.h"
#include "probe/code_range.h"
#include "probe/eligibility.h"
#include "probe/foreign_jump.h"

namespace jitscope {
namespace {

constexpr size_t breakpoint_registers = 4;

// Nothing else is in the way than the jump of another jitscope.
bool has_foreign_jump(const Process& process, const CodeBody& body, const Bytes& entry) {
  if (!machine::begins_with_jump(entry)) return false;
  Bytes other = entry;
  other.front() = std::byte{0x90};
  return why_not(body, other, EntryUse::none).empty() && leads_into_live_image(process, body.entry);
}

class BreakpointPlacer final : public SitePlacer {
 public:
  BreakpointPlacer(const PlacerContext& context, std::shared_ptr<KernelProbes> probes)
      : context_(context), probes_(std::move(probes)) {}

  [[nodiscard]] HitSource& hits() override { return *probes_; }
  PlaceReport place(std::span<const SiteRequest> requests) override;
  void remove(uint32_t id) override {
    probes_->session().remove(id);
    used_.erase(id);
  }
  [[nodiscard]] bool scarce() const override { return true; }
  // A breakpoint stays at its address when the process becomes another program: that has to be
  // noticed.
  [[nodiscard]] std::chrono::milliseconds longest_pause() const override {
    return used_.empty() ? SitePlacer::longest_pause() : std::chrono::milliseconds(100);
  }

 private:
  Status place_one(const SiteRequest& request, const std::vector<Mapping>& maps,
                   SiteOutcome& outcome);

  const PlacerContext& context_;
  std::shared_ptr<KernelProbes> probes_;
  std::set<uint32_t> used_;
};

// An error concerns all sites; else the outcome says what became of this one.
Status BreakpointPlacer::place_one(const SiteRequest& request, const std::vector<Mapping>& maps,
                                   SiteOutcome& outcome) {
  const Process& process = context_.process;
  const CodeBody& body = request.body;
  Bytes entry(16);
  if (body.entry == 0 || !process.memory().read(body.entry, entry)) entry.clear();
  outcome.over_foreign_jump = has_foreign_jump(process, body, entry);
  if (!outcome.over_foreign_jump) outcome.reason = why_not(body, entry, EntryUse::none);
  if (!outcome.reason.empty()) return {};
  if (used_.size() >= breakpoint_registers) {
    outcome.reason = "all 4 breakpoint registers of the CPU are in use";
    return {};
  }
  HitCheck check = hit_check_of(body);
  if (check.skip_if_jump) {
    std::tie(check.jump_low, check.jump_high) =
        code_range_around(body.entry, context_.snapshot, maps);
  }
  Status status = probes_->session().add_breakpoint(request.id, body.entry, check);
  if (status) {
    outcome.placed = true;
    used_.insert(request.id);
  } else if (status.error().kind == ErrorKind::not_permitted) {
    return status;
  } else {
    outcome.reason = to_string(status.error());
  }
  return {};
}

PlaceReport BreakpointPlacer::place(std::span<const SiteRequest> requests) {
  PlaceReport report;
  report.outcomes.resize(requests.size());
  const auto maps = context_.process.maps();
  if (!maps) {
    report.status = fail(maps.error());
    return report;
  }
  for (size_t i = 0; i < requests.size() && report.status; ++i) {
    report.status = place_one(requests[i], *maps, report.outcomes[i]);
  }
  if (!report.status) {
    for (const SiteRequest& request : requests) remove(request.id);
    report.outcomes.assign(requests.size(), {});
  }
  return report;
}

Status check_registers_suffice(size_t bodies, const CodeSource& source) {
  if (bodies <= breakpoint_registers) return {};
  return fail(ErrorKind::not_possible,
              fmt::format("{} bodies match and the CPU has {} breakpoint registers", bodies,
                          breakpoint_registers),
              {},
              source.code_is_fixed()
                  ? "narrow the pattern, or use --backend trampoline"
                  : fmt::format("narrow the pattern (a trampoline is not safe: {})",
                                source.movable_reason()));
}

Result<std::unique_ptr<SitePlacer>> make_breakpoint_placer(PlacerContext& context) {
  JITSCOPE_ASSIGN(auto probes, context.kernel_probes());
  return std::make_unique<BreakpointPlacer>(context, std::move(probes));
}

}  // namespace

extern const Backend breakpoint_backend = {
    .name = "breakpoint",
    .automatic = true,
    .check_number = check_registers_suffice,
    .make = make_breakpoint_placer,
};

}  // namespace jitscope
