#include "profile/frame_counter.h"

#include <algorithm>

#include "profile/collector.h"

namespace jitscope {
namespace {
constexpr uint32_t kNoNumber = UINT32_MAX;
constexpr uint32_t kInlinedRow = UINT32_MAX - 1;
}  // namespace

uint32_t FrameCounter::row(FrameId frame) {
  const FrameTable& frames = session_.resolver().frames();
  if (frame >= row_of_frame_.size())
    row_of_frame_.resize(std::max<size_t>(frame + 1, frames.size()), kNoNumber);
  uint32_t& row = row_of_frame_[frame];
  if (row == kNoNumber) {
    row = row_of_(frame, frames[frame]);
    if (row >= rows_.size()) {
      rows_.resize(row + 1);
      quick_.resize(row + 1);
    }
  }
  return row;
}

uint32_t FrameCounter::row_of_location(LocationId id) {
  if (id >= row_of_location_.size())
    row_of_location_.resize(std::max<size_t>(id + 1, session_.location_count()), kNoNumber);
  uint32_t& known = row_of_location_[id];
  if (known == kNoNumber) {
    const Location location = session_.location(id);
    known = location.inlined != 0 ? kInlinedRow : row(location.frame);
  }
  return known;
}

// Takes what is in quick_ out of it, so that stamps can begin anew.
void FrameCounter::settle() {
  rows_ = rows();
  for (Quick& each : quick_) each = {};
  stamp_ = 0;
}

std::vector<FrameCount> FrameCounter::rows() const {
  std::vector<FrameCount> result = rows_;
  for (size_t i = 0; i < result.size(); ++i) {
    result[i].total_samples += quick_[i].count;
    result[i].total_weight += quick_[i].count * each_;
    result[i].self_samples += quick_[i].leaf;
    result[i].self_weight += quick_[i].leaf * each_;
  }
  return result;
}

inline void FrameCounter::count(uint32_t row) {
  Quick& quick = quick_[row];
  const bool fresh = quick.seen != stamp_;
  quick.seen = stamp_;
  quick.count += fresh ? 1 : 0;
  if (fresh && unusual_ != 0) rows_[row].total_weight += unusual_;
}

// The function and what was inlined into it, from the outermost on; the row of the last.
uint32_t FrameCounter::count_inlined(LocationId id) {
  const Location location = session_.location(id);
  uint32_t leaf = row(location.frame);
  count(leaf);
  const std::vector<FrameId>& inlined = session_.resolver().inlined(location);
  for (size_t i = inlined.size(); i-- > 0;) {
    leaf = row(inlined[i]);
    count(leaf);
  }
  return leaf;
}

bool FrameCounter::on_sample(const ResolvedSample& sample) {
  if (sample.sample.event != event_ || sample.stack.empty()) return true;
  const uint64_t weight = weight_of(sample.sample, session_.header());
  if (samples_ == 0) each_ = weight;
  unusual_ = weight - each_;
  ++samples_;
  weight_ += weight;
  if (stamp_ == UINT32_MAX) settle();
  ++stamp_;
  uint32_t leaf = kNoNumber;
  for (const LocationId id : sample.stack) {
    leaf = id < row_of_location_.size() ? row_of_location_[id] : kNoNumber;
    if (leaf >= kInlinedRow) [[unlikely]] {
      leaf = row_of_location(id);
      if (leaf == kInlinedRow) {
        leaf = count_inlined(id);
        continue;
      }
    }
    count(leaf);
  }
  ++quick_[leaf].leaf;
  if (unusual_ != 0) rows_[leaf].self_weight += unusual_;
  return true;
}

}  // namespace jitscope
