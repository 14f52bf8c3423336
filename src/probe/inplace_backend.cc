// The inplace backend: in-place sites (inplace.h) whose hits eBPF counts. The pages stay as they
// are at the end: a file's mapping with the bytes that the runtime wrote.
#include <memory>
#include <utility>

#include "probe/backend.h"
#include "probe/inplace.h"

namespace jitscope {
namespace {

class InplacePlacer final : public SitePlacer {
 public:
  InplacePlacer(const Process& process, std::shared_ptr<KernelProbes> probes)
      : probes_(std::move(probes)), pages_(process) {}

  [[nodiscard]] HitSource& hits() override { return *probes_; }
  PlaceReport place(std::span<const SiteRequest> requests) override {
    PlaceReport report;
    report.outcomes.resize(requests.size());
    auto placed = pages_.place(requests, probes_->on_slots(requests));
    if (placed) {
      report.outcomes = std::move(*placed);
    } else {
      report.status = fail(std::move(placed.error()));
    }
    probes_->drop_unplaced(requests, report.outcomes);
    return report;
  }
  void remove(uint32_t id) override { probes_->session().remove(id); }
  void set_patience(const Patience& patience) override { pages_.set_patience(patience); }
  [[nodiscard]] StopTimes stops() const override { return {pages_.stopped(), pages_.stopped()}; }

 private:
  // Before the pages: sites lose their probes only after their files.
  std::shared_ptr<KernelProbes> probes_;
  InplacePages pages_;
};

Result<std::unique_ptr<SitePlacer>> make_inplace_placer(PlacerContext& context) {
  JITSCOPE_ASSIGN(auto probes, context.kernel_probes());
  return std::make_unique<InplacePlacer>(context.process, std::move(probes));
}

}  // namespace

extern const Backend inplace_backend = {
    .name = "inplace",
    .takes = TakesCode::in_memory,
    .changes_code = true,
    .make = make_inplace_placer,
};

}  // namespace jitscope
