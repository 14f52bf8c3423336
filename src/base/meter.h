// Meter: how far a long piece of work is, for whoever shows it from another thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace jitscope {

struct Meter {
  std::atomic<uint64_t> done = 0;   // bytes
  std::atomic<uint64_t> whole = 0;  // 0: not known
};

}  // namespace jitscope
