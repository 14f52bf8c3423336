// AddressCache: answers for addresses of one process, with the time they hold for.
//
// This is asked for every frame of a recording, so what it looks at first is small: 16 bytes an
// address, open addressing. Most answers hold as long as the mappings stay what they are; limits of
// the others lie beside it. When mappings change, everything is forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/large_pages.h"

namespace jitscope {

class AddressCache {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // When an answer holds.
  struct Limits {
    uint64_t from = 0;  // in [from, until)
    uint64_t until = UINT64_MAX;
    uint32_t growth = 0;  // and only as long as nothing is mapped anew; 0: no matter
    bool operator==(const Limits&) const = default;
  };
  struct Entry {
    uint64_t ip = 0;
    uint32_t location = kNone;
    uint32_t limits = 0;  // number of its limits << 1, and whether ip is a return address
    [[nodiscard]] bool unlimited() const { return limits < 2; }
  };

  AddressCache() : entries_(kFirstSize), limits_(1) {}

  // Answers were given for another generation of the mappings: they no longer hold.
  void keep_for(uint32_t generation) {
    if (generation == generation_) return;
    generation_ = generation;
    if (used_ == 0) return;
    entries_ = LargeVector<Entry>(kFirstSize);
    limits_.assign(1, Limits{});
    used_ = 0;
  }

  void prefetch(uint64_t ip, bool caller) const {
    __builtin_prefetch(&entries_[place(ip, caller)]);
  }
  // The entry for the key: one with an answer, or with location kNone: then set() comes next.
  [[nodiscard]] Entry& at(uint64_t ip, bool caller) {
    const size_t mask = entries_.size() - 1;
    for (size_t i = place(ip, caller);; i = (i + 1) & mask) {
      Entry& entry = entries_[i];
      if (entry.location == kNone ||
          (entry.ip == ip && (entry.limits & 1U) == static_cast<uint32_t>(caller))) {
        return entry;
      }
    }
  }
  [[nodiscard]] const Limits& limits(const Entry& entry) const {
    return limits_[entry.limits >> 1U];
  }
  // Gives `entry` (of at(), for the same key) an answer. Entries move.
  void set(Entry& entry, uint64_t ip, bool caller, uint32_t location, const Limits& limits) {
    const bool fresh = entry.location == kNone;
    uint32_t number = entry.limits >> 1U;
    if (fresh) number = 0;
    if (number != 0) {
      limits_[number] = limits;
    } else if (limits != Limits{}) {
      number = static_cast<uint32_t>(limits_.size());
      limits_.push_back(limits);
    }
    entry.limits = number << 1U | static_cast<uint32_t>(caller);
    entry.ip = ip;
    entry.location = location;
    if (fresh && ++used_ * 2 > entries_.size()) grow();
  }

 private:
  static constexpr size_t kFirstSize = 256;
  [[nodiscard]] size_t place(uint64_t ip, bool caller) const {
    const uint64_t hash = (ip ^ (caller ? 0x5bd1e995ULL << 32U : 0)) * 0x9e3779b97f4a7c15ULL;
    return static_cast<size_t>(hash >> 32U) & (entries_.size() - 1);
  }
  void grow() {
    LargeVector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.location == kNone) continue;
      size_t i = place(entry.ip, (entry.limits & 1U) != 0);
      while (entries_[i].location != kNone) i = (i + 1) & (entries_.size() - 1);
      entries_[i] = entry;
    }
  }
  LargeVector<Entry> entries_;
  std::vector<Limits> limits_;  // [0]: none
  size_t used_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace jitscope
