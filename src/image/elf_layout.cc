#include "image/elf_layout.h"

#include <algorithm>

namespace jitscope::elf_layout {
namespace {

// At or behind `from`, at the same place within a page as the address.
uint64_t congruent(uint64_t from, uint64_t address) {
  return from + (address - from) % kPage;
}

}  // namespace

std::vector<Stretch> stretches_of(std::span<const Extent> bodies, size_t most,
                                  const std::optional<Extent>& cut) {
  struct Gap {
    uint64_t length = 0;
    size_t before = 0;  // the body behind it
  };
  std::vector<Gap> gaps;
  for (size_t i = 1; i < bodies.size(); ++i) {
    const uint64_t from = bodies[i - 1].end;
    const uint64_t to = bodies[i].begin;
    const bool cut_here = cut && cut->begin >= from && cut->begin < to;
    if (cut_here || to - from >= kSplitGap) {
      gaps.push_back({cut_here ? UINT64_MAX : to - from, i});
    }
  }
  if (gaps.size() + 1 > most) {
    // The widest stay.
    std::ranges::sort(gaps, [](const Gap& a, const Gap& b) {
      return a.length != b.length ? a.length > b.length : a.before < b.before;
    });
    gaps.resize(most - 1);
    std::ranges::sort(gaps, {}, &Gap::before);
  }
  std::vector<Stretch> stretches;
  size_t next_gap = 0;
  for (size_t i = 0; i < bodies.size(); ++i) {
    if (i == 0 || (next_gap < gaps.size() && gaps[next_gap].before == i)) {
      next_gap += i == 0 ? 0 : 1;
      stretches.push_back({bodies[i].begin, bodies[i].end, bodies[i].begin, bodies[i].bytes});
      continue;
    }
    stretches.back().end = bodies[i].end;
    stretches.back().bytes |= bodies[i].bytes;
  }
  return stretches;
}

uint64_t pack(std::span<Stretch> stretches) {
  uint64_t next = kPackedHeaderRoom;
  for (Stretch& stretch : stretches) {
    if (!stretch.bytes) {
      stretch.offset = congruent(kPackedHeaderRoom - kPage, stretch.begin);
      continue;
    }
    stretch.offset = congruent(next, stretch.begin);
    next = stretch.offset + (stretch.end - stretch.begin);
    if (next > kMostAddress) break;  // the caller looks at the end
  }
  return next;
}

uint64_t Packer::place(const Extent& body) {
  const uint64_t size = body.end - body.begin;
  if (ordered_ && any_ && body.begin < open_.end) {
    // All will be moved at the end: waste nothing until then.
    ordered_ = false;
    if (open_.bytes) next_ = open_.offset + (open_.end - open_.begin);
  }
  if (!ordered_) {
    const uint64_t place = next_;
    if (body.bytes) next_ += size;
    return place;
  }
  if (!any_ || body.begin - open_.end >= kSplitGap) {
    if (open_.bytes) next_ = open_.offset + (open_.end - open_.begin);
    open_ = {body.begin, body.end, congruent(next_, body.begin), body.bytes};
    any_ = true;
    return open_.offset;
  }
  open_.end = body.end;
  open_.bytes |= body.bytes;
  return open_.offset + (body.begin - open_.begin);
}

}  // namespace jitscope::elf_layout
