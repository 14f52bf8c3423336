#include "profile/frame_counter.h"

#include <algorithm>

#include "profile/collector.h"

namespace jitscope {
namespace {
constexpr uint32_t kUnknown = UINT32_MAX;
constexpr uint32_t kInlined = UINT32_MAX - 1;
}  // namespace

uint32_t FrameCounter::row(FrameId frame) {
  const FrameTable& frames = session_.resolver().frames();
  if (frame >= row_of_frame_.size()) row_of_frame_.resize(frames.all().size(), kUnknown);
  uint32_t& row = row_of_frame_[frame];
  if (row == kUnknown) {
    row = row_of_(frame, frames[frame]);
    if (row >= rows_.size()) {
      rows_.resize(row + 1);
      seen_.resize(row + 1);
    }
  }
  return row;
}

uint32_t FrameCounter::row_of_location(LocationId id) {
  if (id >= row_of_location_.size()) row_of_location_.resize(session_.location_count(), kUnknown);
  uint32_t& known = row_of_location_[id];
  if (known == kUnknown) {
    const Location& location = session_.location(id);
    known = location.inlined != 0 ? kInlined : row(location.frame);
  }
  return known;
}

void FrameCounter::count(uint32_t row, uint64_t weight) {
  if (seen_[row] == samples_) return;
  seen_[row] = samples_;
  FrameCount& count = rows_[row];
  ++count.total_samples;
  count.total_weight += weight;
}

bool FrameCounter::on_sample(const ResolvedSample& sample) {
  if (sample.sample.event != event_ || sample.stack.empty()) return true;
  ++samples_;
  const uint64_t weight = weight_of(sample.sample, session_.header());
  weight_ += weight;
  uint32_t leaf = kUnknown;
  for (const LocationId id : sample.stack) {
    leaf = row_of_location(id);
    if (leaf != kInlined) {
      count(leaf, weight);
      continue;
    }
    const Location& location = session_.location(id);
    leaf = row(location.frame);
    count(leaf, weight);
    const std::vector<FrameId>& inlined = session_.resolver().inlined(location);
    for (size_t i = inlined.size(); i-- > 0;) {
      leaf = row(inlined[i]);
      count(leaf, weight);
    }
  }
  rows_[leaf].self_samples += 1;
  rows_[leaf].self_weight += weight;
  return true;
}

}  // namespace jitscope
