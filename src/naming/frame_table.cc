#include "naming/frame_table.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace jitscope {
namespace {

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6U) + (seed >> 2U));
}

size_t hash_of(const Frame& frame) {
  const std::hash<std::string_view> text;
  size_t hash = text(frame.raw);
  hash = mix(hash, text(frame.method));
  hash = mix(hash, text(frame.dso_path));
  hash = mix(hash, static_cast<size_t>(frame.no_name));
  hash = mix(hash, static_cast<size_t>(frame.kind));
  return mix(hash, frame.line);
}

}  // namespace

FrameId FrameTable::number(Frame frame) {
  if (slots_.size() < 2 * (frames_.size() + 1)) grow();
  const size_t hash = hash_of(frame);
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  for (; slots_[i].id != kNoFrame; i = (i + 1) & mask) {
    if (slots_[i].hash == hash && frames_[slots_[i].id] == frame) return slots_[i].id;
  }
  const auto id = static_cast<FrameId>(frames_.size());
  slots_[i] = {hash, id};
  frames_.push_back(std::move(frame));
  return id;
}

void FrameTable::grow() {
  std::vector<Slot> old(std::max<size_t>(slots_.size() * 2, 1024));
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNoFrame) continue;
    size_t i = slot.hash & mask;
    while (slots_[i].id != kNoFrame) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

}  // namespace jitscope
