#include "session/leaf_filter.h"

#include <algorithm>

namespace jitscope {
namespace {
constexpr uint8_t kUnknown = 0;
constexpr uint8_t kNo = 1;
constexpr uint8_t kYes = 2;
}  // namespace

bool LeafFilter::takes(LocationId leaf) {
  if (leaf >= taken_.size()) taken_.resize(std::max<size_t>(leaf + 1, session_.location_count()));
  uint8_t& known = taken_[leaf];
  if (known == kUnknown) {
    const Location location = session_.location(leaf);
    const Frame& frame = session_.resolver().frames()[location.frame];
    const bool held = names_.holds(frame.dso) || names_.holds(frame.dso_path) ||
                      names_.holds(session_.resolver().dso(location));
    known = held ? kYes : kNo;
  }
  return known == kYes;
}

bool LeafFilter::on_sample(const ResolvedSample& sample) {
  const uint64_t thread = uint64_t{sample.thread.pid} << 32U | sample.thread.tid;
  const bool taken = !sample.stack.empty() && takes(sample.stack.back());
  const auto left = shared_.find(thread);
  const size_t shared =
      left == shared_.end() ? sample.shared : std::min(sample.shared, left->second);
  if (!taken) {
    ++left_out_;
    shared_.insert_or_assign(thread, shared);
    return true;
  }
  if (left != shared_.end()) shared_.erase(left);
  return consumer_.on_sample(
      {sample.sample, sample.thread, sample.stack, shared, sample.callchain});
}

}  // namespace jitscope
