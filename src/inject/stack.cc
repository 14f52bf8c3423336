#include "inject/stack.h"

#include <algorithm>

namespace jitscope {

void StackWords::prepare(const ProcessLife& life) {
  if (life_ == life.number && growth_ == life.space.growth() &&
      generation_ == life.space.generation()) {
    return;
  }
  life_ = life.number;
  growth_ = life.space.growth();
  generation_ = life.space.generation();
  ranges_.clear();
  life.space.for_each([this](const MappedRange& range) {
    if (!range.memory || !range.executable) return;
    if (!ranges_.empty() && ranges_.back().end == range.start) {
      ranges_.back().end = range.end;
    } else {
      ranges_.push_back({range.start, range.end});
    }
  });
}

bool StackWords::inside(uint64_t word) const {
  const auto after = std::ranges::lower_bound(ranges_, word, {}, &Range::start);
  return after != ranges_.begin() && word <= (after - 1)->end;
}

}  // namespace jitscope
