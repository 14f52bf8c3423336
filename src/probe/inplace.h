// In-place sites: a uprobe in the runtime's own page.
//
// The page becomes a private mapping of a file with the page's own bytes, the uprobe is registered
// while it is r-x, and its old protection returns, all while the process stands still. Only where
// the user asks for it: should jitscope be killed within the stop, a write that the runtime makes
// to that page in the next microseconds could be lost (docs/safety.md). Shared mappings are
// refused.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "probe/image_home.h"
#include "probe/patience.h"
#include "probe/site.h"
#include "process/process.h"

namespace jitscope {

class InplacePages {
 public:
  explicit InplacePages(const Process& process) : process_(process) {}
  ~InplacePages();
  InplacePages(const InplacePages&) = delete;
  InplacePages& operator=(const InplacePages&) = delete;

  // How long to wait where another tracer holds the process; from now on.
  void set_patience(Patience patience) { patience_ = std::move(patience); }

  // All sites of one page: all or none.
  using PageReady = std::function<Status(const std::string& file, std::span<const ReadySlot>)>;

  // One outcome a request. Pages that carry a site from an earlier call are refused.
  Result<std::vector<SiteOutcome>> place(std::span<const SiteRequest> requests,
                                         const PageReady& ready);
  [[nodiscard]] std::chrono::nanoseconds stopped() const { return stopped_; }

 private:
  Status place_page(uint64_t page, std::span<const SiteRequest* const> requests,
                    std::span<SiteOutcome* const> outcomes, const PageReady& ready);

  const Process& process_;
  Patience patience_;
  std::set<uint64_t> pages_;
  std::vector<ImageHome> homes_;
  std::chrono::nanoseconds stopped_{0};
};

}  // namespace jitscope
