// PairTable: a hash table from two 32-bit numbers to one, for the inner loops that number stacks.
// Open addressing, no deletion. The value UINT32_MAX means "none".
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/large_pages.h"

namespace jitscope {

class PairTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The value for a pair; kNone when it is new: the caller sets it at once.
  uint32_t& operator()(uint32_t first, uint32_t second) {
    if ((used_ + 1) * 3 > slots_.size() * 2) grow();
    const uint64_t key = (static_cast<uint64_t>(first) << 32U) | second;
    Slot& slot = slots_[find(key)];
    if (slot.value == kNone) {
      slot.key = key;
      ++used_;
    }
    return slot.value;
  }
  [[nodiscard]] size_t size() const { return used_; }
  // Fetches the place of a pair that is asked for soon.
  void prefetch(uint32_t first, uint32_t second) const {
    if (slots_.empty()) return;
    __builtin_prefetch(&slots_[place((static_cast<uint64_t>(first) << 32U) | second)]);
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t value = kNone;
  };
  [[nodiscard]] size_t place(uint64_t key) const {
    // The upper bits of a product depend on all of the key, the lower ones on the second number
    // alone.
    const uint64_t product = key * 0x9e3779b97f4a7c15ULL;
    return static_cast<size_t>(product ^ (product >> 40U)) & (slots_.size() - 1);
  }
  [[nodiscard]] size_t find(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t i = place(key);
    while (slots_[i].value != kNone && slots_[i].key != key) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    LargeVector<Slot> old(slots_.empty() ? 1024 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.value != kNone) slots_[find(slot.key)] = slot;
    }
  }
  LargeVector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace jitscope
