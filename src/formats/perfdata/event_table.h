// The events of a recording: which of them a record belongs to, and how its fields lie.
//
// A record names its event by IDENTIFIER or ID; that only works when the id lies at the same place
// for all, which add() checks. Unknown ids and ids of 0 (records that perf made up) fall back to
// the first event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/result.h"
#include "formats/perfdata/layout.h"
#include "formats/perfdata/reader.h"
#include "formats/perfdata/word.h"

namespace jitscope::perfdata {

// The ids that one reader found last.
struct RecentIds {
  struct Entry {
    uint64_t id = 0;
    uint32_t event = 0;
  };
  std::array<Entry, 64> entries{};  // an id of 0: none
};

// Event ids to event numbers. A tree, because ids come from strangers who could make any hash table
// slow, behind a small cache of each reader's own, because it is asked for every record.
class IdMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMost = 1U << 20U;
  // An id of 0 names nothing and is not kept; the first event of an id keeps it. The caller bounds
  // how many there are.
  void add(uint64_t id, uint32_t event);
  [[nodiscard]] uint32_t find(uint64_t id) const;
  [[nodiscard]] uint32_t find(uint64_t id, RecentIds& recent) const {
    RecentIds::Entry& last = recent.entries[id % recent.entries.size()];
    if (id != 0 && last.id == id) return last.event;
    const uint32_t event = find(id);
    // What is found stays; an unknown one may be added later.
    if (event != kNone) last = {id, event};
    return event;
  }

 private:
  std::map<uint64_t, uint32_t> events_;
};

class EventTable {
 public:
  static constexpr size_t kMostEvents = 1U << 16U;
  static constexpr uint32_t kUnknown = UINT32_MAX;

  // The next event, numbered in order. Damaged when records could not be told apart.
  Status add(const EventInfo& event);
  void add_id(uint64_t id, uint32_t event) { ids_.add(id, event); }
  [[nodiscard]] size_t size() const { return layouts_.size(); }
  [[nodiscard]] bool any_time() const { return any_time_; }
  [[nodiscard]] const SampleLayout& layout(uint32_t event) const { return layouts_[event]; }
  [[nodiscard]] uint32_t event_of_id(uint64_t id) const { return ids_.find(id); }

  // The event of a sample; kUnknown when its id names none, or there is no event at all.
  [[nodiscard]] uint32_t event_of_sample(std::span<const std::byte> body, RecentIds& recent) const {
    if (layouts_.size() < 2) return layouts_.empty() ? kUnknown : 0;
    const uint8_t position = layouts_[0].id;
    if (position == SampleLayout::kAbsent) return 0;
    if (body.size() < (position + size_t{1}) * kWord) return kUnknown;
    return ids_.find(word_at(body, position), recent);
  }
  // The layout by which the trailer of a record other than a sample is read; null without one.
  [[nodiscard]] const SampleLayout* trailer_layout(std::span<const std::byte> body,
                                                   RecentIds& recent) const;
  // Whether all events record the same fields, so that a sample of an unknown event can be read.
  [[nodiscard]] bool uniform() const { return uniform_; }

 private:
  std::vector<SampleLayout> layouts_;
  IdMap ids_;
  bool uniform_ = true;
  bool any_time_ = false;
};

}  // namespace jitscope::perfdata
