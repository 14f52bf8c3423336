// SpanIndex: rectangles of addresses and time, found by address. Inside src/code only.
//
// A tree over the elementary address ranges: each rectangle stands in the lists of at most 2 log n
// nodes, each list keeps the order in which the rectangles were given, and all that hold an address
// stand on one path from a leaf to the root.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "code/timeline.h"

namespace jitscope {

struct TimeSpan {
  uint64_t low = 0;
  uint64_t high = 0;  // exclusive
  uint64_t from = 0;
  uint64_t until = kForever;  // exclusive
  BodyId body = kNoBody;
  uint32_t name = 0;
};

class SpanIndex {
 public:
  static constexpr uint32_t kMixed = UINT32_MAX;

  // `spans` ascend by `from`; those without addresses are left out.
  void build(std::span<const TimeSpan> spans);

  struct Entry {
    uint64_t from = 0;
    uint64_t until = 0;
    BodyId body = kNoBody;
    uint32_t name = 0;
  };
  [[nodiscard]] const Entry& entry(uint32_t id) const { return entries_[id]; }
  [[nodiscard]] bool empty() const { return lists_.empty(); }
  [[nodiscard]] size_t list_items() const { return items_.size(); }

  // Calls f(first, count, name) for each list on the path of the address: positions in items();
  // `name` is the one of all entries of the list, or kMixed.
  template <typename F>
  void for_each_list(uint64_t address, F f) const {
    const auto above = std::ranges::upper_bound(bounds_, address);
    if (above == bounds_.begin() || above == bounds_.end()) return;
    const size_t leaves = bounds_.size() - 1;
    size_t node = leaves + static_cast<size_t>(above - bounds_.begin()) - 1;
    for (; node != 0; node /= 2) {
      const uint64_t first = lists_[node];
      const uint64_t count = lists_[node + 1] - first;
      if (count != 0) f(first, count, names_[node]);
    }
  }
  // Narrows [low, high] around the address to where all questions have the same lists.
  void narrow(uint64_t address, uint64_t& low, uint64_t& high) const {
    const auto above = std::ranges::upper_bound(bounds_, address);
    if (above != bounds_.begin()) low = std::max(low, *(above - 1));
    if (above != bounds_.end()) high = std::min(high, *above - 1);
  }
  // Ids of entries, list by list.
  [[nodiscard]] std::span<const uint32_t> items() const { return items_; }
  // All lists as (first, count).
  template <typename F>
  void for_all_lists(F f) const {
    for (size_t node = 0; node + 1 < lists_.size(); ++node) {
      if (lists_[node + 1] != lists_[node]) f(lists_[node], lists_[node + 1] - lists_[node]);
    }
  }

 private:
  std::vector<uint64_t> bounds_;  // of the elementary ranges
  std::vector<uint64_t> lists_;   // where the list of a node begins in items_
  std::vector<uint32_t> names_;   // per node
  std::vector<uint32_t> items_;
  std::vector<Entry> entries_;
};

// Which spans hold a moment, where spans may overlap: the windows [since, from) of bodies that were
// there by `from` and may have been there before. Bounded work a question.
class WindowIndex {
 public:
  static constexpr size_t kMostHits = 64;

  void build(std::vector<TimeSpan> windows);
  [[nodiscard]] bool empty() const { return index_.empty(); }

  struct Found {
    std::vector<SpanIndex::Entry> hits;
    bool all = true;  // false: there are more than kMostHits
    // Nothing begins or ends at this address in [valid_from, valid_until) (when `all`).
    uint64_t valid_from = 0;
    uint64_t valid_until = kForever;
  };
  [[nodiscard]] Found at(uint64_t address, uint64_t time) const;
  void narrow(uint64_t address, uint64_t& low, uint64_t& high) const {
    index_.narrow(address, low, high);
  }

 private:
  uint64_t fill_latest(uint64_t low, uint64_t high);
  void collect(uint64_t low, uint64_t high, uint64_t time, Found& found) const;

  SpanIndex index_;
  // Beside the items of the index. latest_[middle of a range] is the largest `until` in the range,
  // the ranges being those of a binary search over the list; ends_ has each list's ends in order.
  std::vector<uint64_t> latest_;
  std::vector<uint64_t> ends_;
};

}  // namespace jitscope
