// See span_index.h.
#include "code/span_index.h"

namespace jitscope {
namespace {

// Calls f(node) for the nodes that together cover the leaves [first, last).
template <typename F>
void for_each_node(size_t leaves, size_t first, size_t last, F f) {
  for (first += leaves, last += leaves; first < last; first /= 2, last /= 2) {
    if ((first & 1U) != 0) f(first++);
    if ((last & 1U) != 0) f(--last);
  }
}

}  // namespace

void SpanIndex::build(std::span<const TimeSpan> spans) {
  *this = SpanIndex();
  bounds_.reserve(spans.size() * 2);
  for (const TimeSpan& span : spans) {
    if (span.low >= span.high) continue;
    bounds_.push_back(span.low);
    bounds_.push_back(span.high);
  }
  if (bounds_.empty()) return;
  if (!std::ranges::is_sorted(bounds_)) std::ranges::sort(bounds_);
  bounds_.erase(std::ranges::unique(bounds_).begin(), bounds_.end());
  bounds_.shrink_to_fit();

  const size_t leaves = bounds_.size() - 1;
  const auto leaf = [&](uint64_t bound) {
    return static_cast<size_t>(std::ranges::lower_bound(bounds_, bound) - bounds_.begin());
  };
  lists_.assign(2 * leaves + 1, 0);
  names_.assign(2 * leaves, kMixed);
  entries_.reserve(spans.size());
  std::vector<std::pair<uint32_t, uint32_t>> ranges;  // of leaves, of each entry
  ranges.reserve(spans.size());
  for (const TimeSpan& span : spans) {
    if (span.low >= span.high) continue;
    entries_.push_back({span.from, span.until, span.body, span.name});
    ranges.emplace_back(leaf(span.low), leaf(span.high));
    for_each_node(leaves, ranges.back().first, ranges.back().second,
                  [&](size_t node) { ++lists_[node + 1]; });
  }
  for (size_t node = 1; node < lists_.size(); ++node) lists_[node] += lists_[node - 1];
  items_.resize(lists_.back());
  std::vector<uint64_t> next(lists_.begin(), lists_.end() - 1);
  for (uint32_t id = 0; id < entries_.size(); ++id) {
    for_each_node(leaves, ranges[id].first, ranges[id].second, [&](size_t node) {
      const bool first = next[node] == lists_[node];
      if (first) {
        names_[node] = entries_[id].name;
      } else if (names_[node] != entries_[id].name) {
        names_[node] = kMixed;
      }
      items_[next[node]++] = id;
    });
  }
}

void WindowIndex::build(std::vector<TimeSpan> windows) {
  std::ranges::stable_sort(windows, {}, &TimeSpan::from);
  index_.build(windows);
  latest_.assign(index_.list_items(), 0);
  ends_.resize(index_.list_items());
  index_.for_all_lists([&](uint64_t first, uint64_t count) {
    fill_latest(first, first + count);
    for (uint64_t i = first; i < first + count; ++i) {
      ends_[i] = index_.entry(index_.items()[i]).until;
    }
    std::ranges::sort(std::span(ends_).subspan(first, count));
  });
}

// As deep as a binary search.
uint64_t WindowIndex::fill_latest(uint64_t low, uint64_t high) {
  if (low >= high) return 0;
  const uint64_t middle = low + (high - low) / 2;
  const uint64_t until = index_.entry(index_.items()[middle]).until;
  latest_[middle] = std::max({until, fill_latest(low, middle), fill_latest(middle + 1, high)});
  return latest_[middle];
}

void WindowIndex::collect(uint64_t low, uint64_t high, uint64_t time, Found& found) const {
  if (low >= high || !found.all) return;
  const uint64_t middle = low + (high - low) / 2;
  if (latest_[middle] <= time) return;  // all of the range ended before
  collect(low, middle, time, found);
  const SpanIndex::Entry& entry = index_.entry(index_.items()[middle]);
  if (entry.from > time) return;  // and all to the right begin later still
  if (entry.until > time && found.all) {
    if (found.hits.size() == kMostHits) {
      found.all = false;
      return;
    }
    found.hits.push_back(entry);
    found.valid_from = std::max(found.valid_from, entry.from);
    found.valid_until = std::min(found.valid_until, entry.until);
  }
  collect(middle + 1, high, time, found);
}

WindowIndex::Found WindowIndex::at(uint64_t address, uint64_t time) const {
  Found found;
  index_.for_each_list(address, [&](uint64_t first, uint64_t count, uint32_t /*name*/) {
    collect(first, first + count, time, found);
    const auto items = index_.items().subspan(first, count);
    const auto later = std::ranges::upper_bound(items, time, {},
                                                [&](uint32_t id) { return index_.entry(id).from; });
    if (later != items.end()) {
      found.valid_until = std::min(found.valid_until, index_.entry(*later).from);
    }
    const auto ends = std::span(ends_).subspan(first, count);
    const auto after = std::ranges::upper_bound(ends, time);
    if (after != ends.begin()) found.valid_from = std::max(found.valid_from, *(after - 1));
  });
  if (!found.all) {
    found.valid_from = time;
    found.valid_until = time == kForever ? kForever : time + 1;
  }
  return found;
}

}  // namespace jitscope
