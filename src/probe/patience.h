// Surgery again, when it could not be had at once. What failed has changed nothing.
//
// - A thread did not stop in time: on a machine whose CPUs are all busy a thread may need longer to
//   be scheduled than a target should stand still for, so each try is short and there are several.
// - Another process has the same memory, and no stop of ours holds it: a vfork child has it for a
//   moment only.
// - Another tracer holds the process: another jitscope does for a millisecond, strace or a debugger
//   as long as its user likes. It is waited for, within a limit.
#pragma once

#include <chrono>
#include <functional>
#include <span>

#include "surgery/surgery.h"

namespace jitscope {

struct Patience {
  std::chrono::milliseconds for_tracer{3000};
  std::function<bool()> hurry;  // true: do not wait any longer; may be empty
  // Told once, when something is waited for longer than what passes in a moment; may be empty.
  std::function<void(const Error& why)> on_wait;
};

// What a command that works on a target for a while is asked by those who wait for it. All may be
// empty.
struct Waiting {
  std::function<bool()> stop_asked;               // ends waits while sites are placed
  std::function<bool()> leave_asked;              // also those while they are taken away
  std::function<void(const Error& why)> on_wait;  // another tracer is waited for
  // Readable as soon as something is asked; -1: none, and long waits are not broken off.
  int wake_fd = -1;

  [[nodiscard]] Patience while_placing(std::chrono::milliseconds for_tracer) const {
    return {for_tracer, stop_asked, on_wait};
  }
  [[nodiscard]] Patience while_leaving(std::chrono::milliseconds for_tracer) const {
    return {for_tracer, leave_asked, on_wait};
  }
};

// Another tracer holds the process (thread_stop.h).
[[nodiscard]] bool held_by_tracer(const Error& error);

// The waiting between the tries of one surgery.
class Retries {
 public:
  explicit Retries(const Patience& patience) : patience_(patience) {}
  // Waits, where another try may do better; false: give up.
  bool wait(const Error& error);

 private:
  bool wait_for_tracer(const Error& error);
  void tell(const Error& error);

  const Patience& patience_;
  std::chrono::steady_clock::time_point began_{};
  unsigned tries_ = 0;
  unsigned late_ = 0;
  bool told_ = false;
};

template <typename T, typename Work>
Result<T> patiently(const Patience& patience, Work&& work) {
  Retries retries(patience);
  while (true) {
    Result<T> result = work();
    if (result || !retries.wait(result.error())) return result;
  }
}

// Before the first change of a process: waits until no other one has the same memory, and would run
// what is being changed, or keep it. Those that come later are not noticed, but for vfork children:
// their parent's thread does not stop.
Status wait_until_alone(const Process& process, const Patience& patience);

// Waits until no tracer holds the process; the error of one that stays.
Status wait_until_free(const Process& process, const Patience& patience);

inline Result<SurgeryReport> apply_patiently(const Process& process, std::span<const Patch> patches,
                                             const Patience& patience = {}) {
  return patiently<SurgeryReport>(patience, [&] { return apply_patches(process, patches); });
}

}  // namespace jitscope
