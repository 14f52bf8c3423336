#include "code/address_space.h"

#include <iterator>

namespace jitscope {

AddressSpace::Ranges& AddressSpace::own() {
  if (ranges_.use_count() > 1) ranges_ = std::make_shared<Ranges>(*ranges_);
  return *ranges_;
}

bool AddressSpace::continues(const MappedRange& now, const MappedRange& before) {
  return now.file == before.file && now.shared == before.shared &&
         now.executable == before.executable && now.under == before.under &&
         now.under_bias == before.under_bias &&
         (now.memory || now.page_offset - now.start == before.page_offset - before.start);
}

void AddressSpace::remember_file(MappedRange& range) const {
  const MappedRange* before = at(range.start);
  if (before == nullptr || before->end < range.end || !before->executable) return;
  range.under = before->memory ? before->under : before->file;
  range.under_bias = before->memory ? before->under_bias : before->page_offset - before->start;
}

bool AddressSpace::map(const MappedRange& mapping) {
  if (mapping.start >= mapping.end) return false;
  MappedRange range = mapping;
  if (range.memory && range.executable) remember_file(range);
  Ranges& ranges = own();
  ++growth_;
  bool changed = false;
  auto next = ranges.lower_bound(range.start);
  if (next != ranges.begin()) {
    auto before = std::prev(next);
    if (before->second.end > range.start) {
      MappedRange tail = before->second;
      changed = changed || !continues(range, tail);
      before->second.end = range.start;
      if (tail.end > range.end) {
        tail.page_offset += range.end - tail.start;
        tail.start = range.end;
        next = ranges.emplace(tail.start, tail).first;
      }
    }
  }
  while (next != ranges.end() && next->second.start < range.end) {
    MappedRange covered = next->second;
    changed = changed || !continues(range, covered);
    next = ranges.erase(next);
    if (covered.end > range.end) {
      covered.page_offset += range.end - covered.start;
      covered.start = range.end;
      next = ranges.emplace(covered.start, covered).first;
      break;
    }
  }
  ranges.insert_or_assign(range.start, range);
  if (changed) ++generation_;
  return true;
}

void AddressSpace::clear() {
  ranges_ = std::make_shared<Ranges>();
  ++generation_;
  ++growth_;
}

const MappedRange* AddressSpace::at(uint64_t address) const {
  auto next = ranges_->upper_bound(address);
  if (next == ranges_->begin()) return nullptr;
  const MappedRange& range = std::prev(next)->second;
  return address < range.end ? &range : nullptr;
}

}  // namespace jitscope
