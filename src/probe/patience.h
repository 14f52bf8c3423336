// Surgery again, when a thread did not stop in time: on a machine whose CPUs are all busy a thread
// may need longer to be scheduled than a target should stand still for, so each try is short and
// there are several. What failed has changed nothing.
#pragma once

#include <chrono>
#include <span>
#include <thread>

#include "process/surgery.h"

namespace jitscope {

template <typename T, typename Work>
Result<T> patiently(Work&& work) {
  constexpr int tries = 6;
  for (int attempt = 1;; ++attempt) {
    Result<T> result = work();
    if (result || result.error().system_errno != ETIMEDOUT || attempt == tries) return result;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

inline Result<SurgeryReport> apply_patiently(const Process& process,
                                             std::span<const Patch> patches) {
  return patiently<SurgeryReport>([&] { return apply_patches(process, patches); });
}

}  // namespace jitscope
