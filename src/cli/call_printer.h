// CallPrinter: the calls of a trace as lines, in the order in which they came.
//
// Stacks are named by a thread (symbolize/stack_worker.h): a line waits for its stack, and where
// that takes too long it is printed without, and says so.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probe/tracer.h"
#include "render/trace_text.h"
#include "runtimes/common/code_source.h"
#include "symbolize/stack_worker.h"

namespace jitscope {

struct CallPrinterOptions {
  bool json = false;
  bool stacks = false;
  uint64_t max_events = 0;  // 0: all
};

class CallPrinter {
 public:
  CallPrinter(const CallPrinterOptions& options, const Process& process, CodeSource& source,
              Tracer& tracer);

  // `stop` ends waiting for the thread, as it ends the trace.
  void take(const TracedCall& call, const std::function<bool()>& stop);
  // Writes what there is, until `stop` says so (a stalled reader must not keep a trace from
  // ending). False when nobody reads the output any more.
  bool flush(const std::function<bool()>& stop);
  // The probes are away: waits for the stacks that are still to be named, for a bounded time. What
  // is not written yet.
  std::string finish(const std::function<bool()>& stop);

  // Calls that were taken to be printed: of all methods, of one.
  [[nodiscard]] uint64_t shown() const { return events_; }
  [[nodiscard]] uint64_t shown_of(size_t method) const {
    return method < shown_of_.size() ? shown_of_[method] : 0;
  }
  // Calls wait for their stacks.
  [[nodiscard]] bool waits() const { return !calls_.empty(); }
  // Calls that came after the last one shown (--max-events).
  [[nodiscard]] uint64_t not_shown() const { return not_shown_; }
  // Calls whose stacks were not named, because that took too long.
  [[nodiscard]] uint64_t not_named() const { return not_named_; }
  [[nodiscard]] bool full() const {
    return options_.max_events != 0 && events_ >= options_.max_events;
  }

 private:
  struct Call {
    uint64_t time_ns = 0;
    uint32_t pid = 0;
    uint32_t tid = 0;
    std::string method;
    std::string short_name;
    std::vector<ArgumentValue> arguments;
  };
  void print(const Call& call, const Stack* stack);
  void name(Call call, const Hit& hit, const std::function<bool()>& stop);
  // Prints what was named, and gives the thread what it wants.
  void collect();
  void give_up();

  CallPrinterOptions options_;
  CodeSource& source_;
  Tracer& tracer_;
  std::unique_ptr<StackWorker> worker_;  // null: without stacks, or given up
  Stack without_;                        // stands for those that are not named
  std::deque<Call> calls_;               // that wait for their stacks
  std::string out_;
  uint64_t events_ = 0;
  std::vector<uint64_t> shown_of_;  // by method
  uint64_t not_shown_ = 0;
  uint64_t not_named_ = 0;
};

}  // namespace jitscope
