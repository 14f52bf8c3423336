// Tracer: watches the calls of some methods of one process, through all their bodies as they come
// and go, until finish().
//
//   start()  selects the methods, plans and places the sites
//   step()   hands events over, and looks for new and freed bodies when it is time
//   finish() puts everything back and gives the summary; also called by the destructor
//
// One thread only (it becomes the ptrace tracer during a stop). The process and the source outlive
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ebpf/bpf_session.h"
#include "probe/backend.h"
#include "probe/hit.h"
#include "probe/methods.h"
#include "probe/patience.h"
#include "probe/site.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"
#include "runtimes/common/runtime_row.h"

namespace jitscope {

struct TraceOptions {
  std::vector<std::string> patterns;
  const Backend* backend = nullptr;                           // one of `backends`; null: auto
  std::span<const Backend* const> backends = all_backends();  // what auto chooses from
  bool events = true;                                         // false: only count
  bool stacks = false;
  uint64_t events_a_second = 0;  // 0: all
  uint64_t every = 0;            // hand over one of so many calls of each body; 0: all
  size_t max_methods = 100;
  Waiting waiting;
  std::optional<RuntimeInfo> runtime;  // of the process, where it is known already
};

// A site as the summary shows it.
struct SiteReport {
  uint64_t address = 0;
  Tier tier = Tier::unknown;
  std::string_view backend;
  bool placed = false;
  std::string reason;     // why not placed
  uint64_t since_ns = 0;  // CLOCK_MONOTONIC: watched from here on
  uint64_t until_ns = 0;  // 0: to the end
  // How long before since_ns it may have run already; 0: it was there when the trace began.
  uint64_t unseen_ns = 0;
  HitCounts counts;
};

struct MethodReport {
  std::string method;
  std::string raw;
  uint64_t calls = 0;
  uint64_t shown = 0;  // handed over; who shows fewer says so here
  uint64_t lost = 0;
  uint64_t stale = 0;
  uint64_t redispatched = 0;
  uint64_t since_ns = 0;   // when the first of its sites was in place; 0: none ever was
  uint64_t unseen_ns = 0;  // of all its sites together
  std::vector<SiteReport> sites;
  uint64_t bodies_alive = 0;   // entered by calls, at the end
  uint64_t bodies_probed = 0;  // of those
  bool interpreted_only = false;
  std::vector<std::string> not_seen;  // what the count cannot include
};

struct TraceReport {
  std::vector<MethodReport> methods;
  std::chrono::nanoseconds stopped{0};  // all stops together
  std::chrono::nanoseconds longest_stop{0};
  size_t entries_restored = 0;
  // Jumps that could not be taken back (the target runs on with them), and why.
  size_t entries_left = 0;
  std::optional<Error> left_because;
  bool target_gone = false;
  bool counted_only = false;  // nothing was to be shown
  std::vector<std::string> notes;
  uint64_t looks = 0;  // at the process's code, while the trace ran
};

struct TracedCall {
  size_t method = 0;
  const CodeBody* body = nullptr;
  const Hit& hit;
};

// What start() found, for the first line of output.
struct TraceStart {
  size_t methods = 0;
  size_t bodies = 0;  // alive, entered by calls
  size_t sites = 0;   // placed
  // In the order of preference, without those that have none.
  std::vector<std::pair<std::string_view, size_t>> sites_by;
  std::string_view backend;
  std::string backend_reason;      // why this backend, for auto
  std::vector<std::string> notes;  // unmatched patterns, refused sites, ...
  std::chrono::nanoseconds stopped{0};
};

class Tracer {
 public:
  static Result<std::unique_ptr<Tracer>> start(const Process& process, CodeSource& source,
                                               const TraceOptions& options);
  virtual ~Tracer() = default;

  [[nodiscard]] virtual const TraceStart& started() const = 0;
  [[nodiscard]] virtual const MethodSet& methods() const = 0;
  // Of all sites, up to now.
  [[nodiscard]] virtual uint64_t calls() const = 0;

  // Waits for events, at most for `wait`; for less while something happens. False when the target
  // is gone.
  virtual Result<bool> step(std::chrono::milliseconds wait,
                            const std::function<void(const TracedCall&)>& on_call) = 0;
  // Takes all sites away, hands the remaining events over, and sums up. Once. What was counted is
  // in the report whatever happens to the sites.
  virtual TraceReport finish(const std::function<void(const TracedCall&)>& on_call) = 0;

  // The bodies and mappings known now, for naming stacks.
  [[nodiscard]] virtual const Snapshot& snapshot() const = 0;
};

}  // namespace jitscope
