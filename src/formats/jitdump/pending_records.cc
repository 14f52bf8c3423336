// See pending_records.h. Few wait at a time: lists are searched from one end to the other.
#include "formats/jitdump/pending_records.h"

#include <algorithm>
#include <utility>

#include "formats/jitdump/jitdump.h"

namespace jitscope::jitdump {

void PendingRecords::drop(std::vector<Pending>::iterator one) {
  held_ -= one->content.size();
  if (one->content.capacity() <= kLargestSpare) spare_.push_back(std::move(one->content));
  pending_.erase(one);
}

void PendingRecords::forget_old(Diagnostics& diagnostics) {
  const auto old = [&](const Pending& one) { return loads_ - one.load > kMostPending; };
  while (!pending_.empty() &&
         (pending_.size() > kMostPending || held_ > kLargestRecord || old(pending_.front()))) {
    diagnostics.note(forgotten_);
    drop(pending_.begin());
  }
}

void PendingRecords::keep(uint64_t address, std::span<const std::byte> content,
                          Diagnostics& diagnostics) {
  auto same = std::ranges::find(pending_, address, &Pending::address);
  if (same != pending_.end()) drop(same);
  Pending one{address, loads_, {}};
  if (!spare_.empty()) {
    one.content = std::move(spare_.back());
    spare_.pop_back();
  }
  one.content.assign(content.begin(), content.end());
  held_ += content.size();
  pending_.push_back(std::move(one));
  forget_old(diagnostics);
}

std::optional<std::span<const std::byte>> PendingRecords::take(uint64_t address,
                                                               Diagnostics& diagnostics) {
  ++loads_;
  auto mine = std::ranges::find(pending_, address, &Pending::address);
  const bool found = mine != pending_.end();
  if (found) {
    held_ -= mine->content.size();
    std::swap(current_, mine->content);
    held_ += mine->content.size();  // drop() takes it off again
    drop(mine);
  }
  forget_old(diagnostics);
  if (!found) return std::nullopt;
  return current_;
}

}  // namespace jitscope::jitdump
