// The stack of a thread's last sample, of which its next one shares most: what was looked at then
// needs no second look as long as nothing has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/perfdata/records.h"

namespace jitscope {

class LastChain {
 public:
  // How many entries at the root's side `now` (leaf first, with markers) shares with it, such that
  // each is a return address behind the last marker of both.
  [[nodiscard]] size_t shared(std::span<const uint64_t> now) const;
  // `shared` of it are there. `tail`: how many entries stand behind the last marker, whose code
  // `mode` tells.
  void set(std::span<const uint64_t> now, size_t shared, size_t tail, perfdata::CpuMode mode);
  [[nodiscard]] perfdata::CpuMode mode() const { return mode_; }

 private:
  std::vector<uint64_t> words_;  // the root's is the last one always
  size_t tail_ = 0;              // of them are the chain's tail
  perfdata::CpuMode mode_ = perfdata::CpuMode::unknown;
};

}  // namespace jitscope
