// Exposer: makes methods visible to other tools. Every method gets one probe point with a symbol in
// a live ELF image of the target; all its bodies, also those compiled later, lead their calls
// through it.
//
// The probe point is `nop4; ret`, called from the body's slot with the registers as they were at
// the method's entry: arguments in registers are where the calling convention has them; the stack
// pointer is 8 below its value at the entry.
//
// Code that is mapped from a file needs none of that: it is shown where it lies there, and what its
// process runs stays as it is.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "probe/exposed_method.h"
#include "probe/patience.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"
#include "runtimes/common/runtime_row.h"

namespace jitscope {

struct ExposeOptions {
  std::vector<std::string> patterns;
  size_t max_methods = 100;
  Waiting waiting;
  // A second symbol a method, with the signature. A tool that is given a wildcard counts a call
  // once for each symbol that matches, so they are there only for those who ask.
  bool aliases = false;
  std::optional<RuntimeInfo> runtime;  // of the process, where it is known already
};

class Exposer {
 public:
  static Result<std::unique_ptr<Exposer>> start(const Process& process, CodeSource& source,
                                                const ExposeOptions& options);
  virtual ~Exposer() = default;  // puts back, unless keep() was called

  // In the order in which they were taken in: those that came later stand at the end.
  [[nodiscard]] virtual std::vector<ExposedMethod> exposed() const = 0;
  // How many of these; grows when methods appear that match.
  [[nodiscard]] virtual size_t methods() const = 0;
  // Base address of the image in the target; 0: there is none, nothing was put into the target.
  [[nodiscard]] virtual uint64_t base() const = 0;
  [[nodiscard]] virtual std::vector<std::string> notes() const = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds stopped() const = 0;

  // Looks for new bodies and methods when it is time; waits at most `wait` for that. False when the
  // target is gone.
  virtual Result<bool> step(std::chrono::milliseconds wait) = 0;
  // Looks at the process's code up to now.
  [[nodiscard]] virtual uint64_t looks() const = 0;
  // Puts the entries back and takes the file away; how many entries. After an error the jumps are
  // still there, and the hint says how to take them back.
  virtual Result<size_t> finish() = 0;
  // Leaves everything in place.
  virtual void keep() = 0;
};

}  // namespace jitscope
