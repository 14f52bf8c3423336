#include "base/diagnostics.h"

namespace jitscope {

void Diagnostics::note(std::string_view kind, std::string_view example, uint64_t count) {
  auto found = entries_.find(kind);
  if (found == entries_.end()) {
    found = entries_.emplace(std::string(kind), Slot{std::string(example), 0, false}).first;
  }
  found->second.count += count;
}

void Diagnostics::add(const Diagnostics& others) {
  for (const Entry& entry : others.entries()) note(entry.kind, entry.first, entry.count);
}

uint64_t Diagnostics::count(std::string_view kind) const {
  const auto found = entries_.find(kind);
  return found == entries_.end() ? 0 : found->second.count;
}

std::vector<Diagnostics::Entry> Diagnostics::entries() const {
  std::vector<Entry> result;
  for (const auto& [kind, slot] : entries_) result.push_back({kind, slot.first, slot.count});
  return result;
}

std::vector<Diagnostics::Entry> Diagnostics::take_new() {
  std::vector<Entry> result;
  for (auto& [kind, slot] : entries_) {
    if (slot.shown) continue;
    slot.shown = true;
    result.push_back({kind, slot.first, slot.count});
  }
  return result;
}

std::string to_string(const Diagnostics::Entry& entry) {
  return std::to_string(entry.count) + "x " + entry.kind + " (first: " + entry.first + ")";
}

}  // namespace jitscope
