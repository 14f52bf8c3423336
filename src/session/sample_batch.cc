#include "session/sample_batch.h"

namespace jitscope {

bool SampleBatch::hand_out(perfdata::Decoder& decoder, perfdata::Handler& handler) {
  // The records were read by another thread: the cache of this one's processor has none of them.
  constexpr size_t ahead = 3;
  constexpr uint32_t most =
      2048;  // bytes of a record, which all but the deepest stacks have room in
  for (entry_ = 0; entry_ < entries().size(); ++entry_) {
    prefetch(entry_ + ahead, most);
    if (!decoder.hand_out(raw(entry_), entries()[entry_].offset, handler)) return false;
  }
  return true;
}

void SampleBatch::add(ThreadState& thread, std::span<const LocationId> stack, size_t shared,
                      bool callchain) {
  if (thread.kept_by != this || thread.kept_lap != lap_) {
    thread.kept_by = this;
    thread.kept_lap = lap_;
    threads_.push_back(thread.label);
  }
  resolved_.push_back({entry_, static_cast<uint32_t>(stack.size()), static_cast<uint32_t>(shared),
                       callchain, thread.label.get()});
  locations_.insert(locations_.end(), stack.begin(), stack.end());
}

bool SampleBatch::hand_out(perfdata::Decoder& decoder, SampleConsumer& consumer) const {
  constexpr size_t ahead = 4;
  constexpr uint32_t head = 128;  // of a sample, without its stack
  size_t first = 0;
  for (size_t i = 0; i < resolved_.size(); ++i) {
    if (i + ahead < resolved_.size()) prefetch(resolved_[i + ahead].entry, head);
    const Resolved& each = resolved_[i];
    perfdata::Sample sample;
    if (!decoder.sample(raw(each.entry), entries()[each.entry].offset, sample)) continue;
    const auto stack = std::span(locations_).subspan(first, each.count);
    first += each.count;
    if (!consumer.on_sample({sample, *each.thread, stack, each.shared, each.callchain})) {
      return false;
    }
  }
  return true;
}

}  // namespace jitscope
