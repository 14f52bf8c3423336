// SampleChecker: looks at the addresses of a sample's stack for which perf would see something else
// than the code that lay there, and has each mended. What was looked at once is not looked at again
// as long as nothing changes (settled.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "formats/perfdata/callchain.h"
#include "inject/mender.h"
#include "inject/plan.h"
#include "inject/settled.h"
#include "inject/stack.h"
#include "inject/view.h"
#include "replay/last_chain.h"
#include "session/session.h"

namespace jitscope {

class SampleChecker {
 public:
  SampleChecker(Session& session, PerfViewMender& mender, InjectPlan& plan, PerfViews& views)
      : session_(session), mender_(mender), plan_(plan), views_(views) {}

  Status check(const UnresolvedSample& sample);
  // Of the process's addresses.
  SettledCode& settled_of(const ProcessLife& life);
  // Samples whose leaf is JIT code, with and without a name.
  [[nodiscard]] uint64_t jit_samples() const { return jit_samples_; }
  [[nodiscard]] uint64_t nameless() const { return nameless_; }

 private:
  // What is known of a location.
  struct Known {
    // elsewhere: in no process. native: in a mapped file. unmapped: nobody knows.
    enum class Kind : uint8_t { unseen, elsewhere, native, unmapped, nameless, jit };
    uint64_t stamp = 0;  // state of a view for which it was found right
    uint32_t code = PerfView::kNoCode;
    Kind kind = Kind::unseen;
  };
  // Of a thread's last sample.
  struct Last {
    PerfView* view = nullptr;
    uint64_t epoch = 0;
    uint32_t life = UINT32_MAX;   // ProcessLife::number
    SettledCode* code = nullptr;  // of the life
    LastChain chain;
    const SettledCode* settled = nullptr;  // whose `opened` it is that the chain was looked at for
    uint64_t opened = 0;
  };

  Last& last_of(const UnresolvedSample& sample);
  Status check_stack(InjectSample& at, Last& last);
  Result<perfdata::ChainEnd> check_chain(InjectSample& at, std::span<const uint64_t> chain);
  Status check_callers(InjectSample& at, std::span<const uint64_t> callers);
  Status check_stack_words(InjectSample& at);
  Status check_address(InjectSample& at, uint64_t ip, bool caller);
  Status check_return(InjectSample& at, LocationId id, uint64_t ip);
  Status check_location(InjectSample& at, LocationId id);
  LocationId locate(const UnresolvedSample& sample, uint64_t ip, bool caller);
  Status classify(InjectSample& at, LocationId id);
  static SettledCode::Kind kind_of(const Known& known);
  void settle(InjectSample& at, LocationId id, uint64_t address);
  void count_leaf(InjectSample& at);

  Session& session_;
  PerfViewMender& mender_;
  InjectPlan& plan_;
  PerfViews& views_;
  StackWords words_;
  std::vector<Known> known_;                                 // by location
  std::vector<Last> last_;                                   // by ThreadState::slot
  std::vector<std::unique_ptr<SettledCode>> settled_codes_;  // by ProcessLife::number
  uint64_t latest_ = 0;                                      // time of a sample
  uint64_t jit_samples_ = 0;
  uint64_t nameless_ = 0;
};

}  // namespace jitscope
