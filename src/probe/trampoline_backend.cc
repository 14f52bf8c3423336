// The trampoline backend: jumps into slots of a live image (trampolines.h) that carry uprobes, or
// into the slots of another jitscope, where that has its jump at an entry already
// (shared_slots.h).
#include <memory>
#include <utility>

#include "probe/backend.h"
#include "probe/shared_slots.h"
#include "probe/trampolines.h"

namespace jitscope {
namespace {

// How often shared slots are looked at: calls between the other's end and our own jump are not
// seen.
constexpr std::chrono::milliseconds shared_pause{10};

class TrampolinePlacer final : public SitePlacer {
 public:
  TrampolinePlacer(const PlacerContext& context, std::shared_ptr<KernelProbes> probes)
      : context_(context),
        probes_(std::move(probes)),
        trampolines_(context.process),
        shared_(context.process) {}

  [[nodiscard]] HitSource& hits() override { return *probes_; }
  PlaceReport place(std::span<const SiteRequest> requests) override;
  void remove(uint32_t id) override {
    probes_->session().remove(id);
    shared_.forget(id);
  }

  std::vector<LostSite> look() override { return shared_.look(probes_->session()); }
  [[nodiscard]] std::chrono::milliseconds longest_pause() const override {
    return shared_.any() ? shared_pause : SitePlacer::longest_pause();
  }

  Result<size_t> withdraw() override { return trampolines_.withdraw(); }
  [[nodiscard]] size_t entries_left() const override { return trampolines_.jumps().size(); }
  void discard() override {
    if (trampolines_.prepared()) trampolines_.unlink_file();
  }

  void set_patience(const Patience& patience) override { trampolines_.set_patience(patience); }
  [[nodiscard]] StopTimes stops() const override {
    return {trampolines_.stopped(), trampolines_.longest_stop()};
  }
  [[nodiscard]] std::string remark() const override { return trampolines_.remark(); }

 private:
  Result<std::vector<SiteOutcome>> place_own(std::span<const SiteRequest> requests);

  const PlacerContext& context_;
  // Before the image: sites lose their probes only after their jumps.
  std::shared_ptr<KernelProbes> probes_;
  Trampolines trampolines_;
  SharedSlots shared_;
};

Result<std::vector<SiteOutcome>> TrampolinePlacer::place_own(
    std::span<const SiteRequest> requests) {
  JITSCOPE_TRY(trampolines_.prepare_near(requests.front().body.entry, context_.snapshot));
  return trampolines_.place(requests, probes_->on_slots(requests));
}

PlaceReport TrampolinePlacer::place(std::span<const SiteRequest> requests) {
  PlaceReport report;
  report.outcomes = shared_.share(probes_->session(), requests);
  std::vector<SiteRequest> rest;
  std::vector<SiteOutcome*> outcomes;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (report.outcomes[i].placed) continue;
    rest.push_back(requests[i]);
    outcomes.push_back(&report.outcomes[i]);
  }
  if (rest.size() != requests.size()) {
    report.notes.emplace_back(
        "another jitscope has jumps at these entries: calls are counted in its slots, and when "
        "it ends in slots of our own");
  }
  if (rest.empty()) return report;
  auto placed = place_own(rest);
  if (placed) {
    for (size_t i = 0; i < rest.size(); ++i) *outcomes[i] = std::move((*placed)[i]);
  } else {
    Error error = std::move(placed.error());
    if (!trampolines_.prepared()) {
      report.lacks = "no live image";
      if (error.kind == ErrorKind::not_permitted) {
        error.hint += "; up to 4 bodies can be traced without that: --backend breakpoint";
      }
    }
    report.status = fail(std::move(error));
  }
  probes_->drop_unplaced(requests, report.outcomes);
  return report;
}

Result<std::unique_ptr<SitePlacer>> make_trampoline_placer(PlacerContext& context) {
  JITSCOPE_ASSIGN(auto probes, context.kernel_probes());
  return std::make_unique<TrampolinePlacer>(context, std::move(probes));
}

}  // namespace

extern const Backend trampoline_backend = {
    .name = "trampoline",
    .takes = TakesCode::in_memory,
    .changes_code = true,
    .automatic = true,
    .make = make_trampoline_placer,
};

}  // namespace jitscope
