// Sorted runs and their merge; see order_queue.h.
#include "formats/perfdata/order_queue.h"

#include <algorithm>
#include <utility>

namespace jitscope::perfdata {

uint32_t OrderQueue::run_for(uint64_t time) {
  const auto fits = [&](size_t rank) { return runs_[by_last_time_[rank]].last_time <= time; };
  // Records of one CPU follow each other, so the run of the last record is nearly always right.
  if (recent_ < by_last_time_.size() && fits(recent_) && (recent_ == 0 || !fits(recent_ - 1))) {
    return by_last_time_[recent_];
  }
  const auto found = std::ranges::partition_point(
      by_last_time_, [&](uint32_t run) { return runs_[run].last_time > time; });
  recent_ = static_cast<uint32_t>(found - by_last_time_.begin());
  if (found == by_last_time_.end()) {
    by_last_time_.push_back(static_cast<uint32_t>(runs_.size()));
    runs_.emplace_back();
  }
  return by_last_time_[recent_];
}

void OrderQueue::append(Run& run, const Entry& entry) {
  std::vector<Entry>& entries = run.entries;
  if (entries.size() == entries.capacity() && run.next > entries.size() / 2) {
    entries.erase(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(run.next));
    run.next = 0;
  }
  entries.push_back(entry);
  run.last_time = entry.time;
}

void OrderQueue::push(const Entry& entry) {
  const uint32_t index = run_for(entry.time);
  Run& run = runs_[index];
  if (run.empty()) {
    run.entries.clear();
    run.next = 0;
    heap_.push_back(Head{entry.time, entry.sequence, index});
    std::ranges::push_heap(heap_, [](const Head& a, const Head& b) { return before(b, a); });
  }
  append(run, entry);
  entry_bytes_ += entry.size + sizeof(Entry);
}

void OrderQueue::sift_down() {
  const Head moved = heap_.front();
  size_t hole = 0;
  for (;;) {
    size_t child = 2 * hole + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], moved)) break;
    heap_[hole] = heap_[child];
    hole = child;
  }
  heap_[hole] = moved;
}

OrderQueue::Entry OrderQueue::pop(uint32_t read) {
  const uint32_t index = heap_.front().run;
  Run& run = runs_[index];
  const Entry entry = run.entries[run.next++];
  // What waited for a round has left the cache: fetch what comes a little later in this run.
  constexpr size_t ahead = 3;
  if (run.entries.size() - run.next > ahead) {
    const Entry& soon = run.entries[run.next + ahead];
    if (soon.chunk != nullptr) soon.chunk->prefetch(soon.position, std::min(soon.size, read));
  }
  entry_bytes_ -= entry.size + sizeof(Entry);
  if (run.empty()) {
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down();
    if (const size_t idle = runs_.size() - heap_.size(); idle > 64 && idle > runs_.size() / 2) {
      drop_empty_runs();
    }
  } else {
    const Entry& first = run.entries[run.next];
    heap_.front() = Head{first.time, first.sequence, index};
    sift_down();
  }
  return entry;
}

void OrderQueue::drop_empty_runs() {
  std::vector<uint32_t> moved_to(runs_.size(), UINT32_MAX);
  std::vector<Run> kept;
  kept.reserve(heap_.size());
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].empty()) continue;
    moved_to[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(runs_[i]));
  }
  runs_ = std::move(kept);
  std::erase_if(by_last_time_, [&](uint32_t run) { return moved_to[run] == UINT32_MAX; });
  for (uint32_t& run : by_last_time_) run = moved_to[run];
  for (Head& head : heap_) head.run = moved_to[head.run];
  recent_ = 0;
}

}  // namespace jitscope::perfdata
