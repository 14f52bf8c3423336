// Events by id; see event_table.h.
#include "formats/perfdata/event_table.h"

#include <array>

#include "formats/perfdata/format.h"

namespace jitscope::perfdata {

void IdMap::add(uint64_t id, uint32_t event) {
  if (id == 0) return;
  events_.emplace(id, event);
}

uint32_t IdMap::find(uint64_t id) const {
  const auto found = events_.find(id);
  return found == events_.end() ? kNone : found->second;
}

Status EventTable::add(const EventInfo& event) {
  if (layouts_.size() >= kMostEvents) {
    return fail(ErrorKind::damaged, "more events than any recording has");
  }
  const SampleLayout layout = make_layout(event);
  if (!layouts_.empty()) {
    const SampleLayout& first = layouts_[0];
    const bool told_apart = first.id != SampleLayout::kAbsent && layout.id == first.id;
    if (layout.sample_type != first.sample_type && !told_apart) {
      return fail(ErrorKind::damaged,
                  "the events record different fields and no id that tells them apart", {},
                  "the file was put together wrongly, or its attributes are damaged: record again");
    }
    const auto fields = [](const SampleLayout& l) {
      return std::array{l.sample_type, l.read_format, l.branch_sample_type, l.user_regs_mask,
                        l.intr_regs_mask};
    };
    uniform_ = uniform_ && fields(layout) == fields(first);
  }
  any_time_ = any_time_ || layout.has(sample_bit::kTime);
  layouts_.push_back(layout);
  return {};
}

const SampleLayout* EventTable::trailer_layout(std::span<const std::byte> body,
                                               RecentIds& recent) const {
  if (layouts_.empty()) return nullptr;
  const SampleLayout& first = layouts_[0];
  if (first.trailer_words == 0) return nullptr;
  if (layouts_.size() == 1 || first.trailer_id == SampleLayout::kAbsent) return &first;
  // The id's place counts from the end, where all events agree on it.
  const size_t from_end = size_t{first.trailer_words} - first.trailer_id;
  const size_t words = body.size() / kWord;
  if (from_end > words) return &first;
  const uint32_t event = ids_.find(word_at(body.last(from_end * kWord), 0), recent);
  if (event == IdMap::kNone || layouts_[event].trailer_words == 0) return &first;
  return &layouts_[event];
}

}  // namespace jitscope::perfdata
