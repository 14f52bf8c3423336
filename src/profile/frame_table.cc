// FrameTable: equal frames get one number (resolver.h).
#include <functional>
#include <string_view>

#include "profile/resolver.h"

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
  hash = mix(hash, text(frame.reason));
  hash = mix(hash, static_cast<size_t>(frame.kind));
  return mix(hash, frame.line);
}

}  // namespace

FrameId FrameTable::number(Frame frame) {
  const size_t hash = hash_of(frame);
  const auto [first, last] = numbers_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (frames_[it->second] == frame) return it->second;
  }
  const auto id = static_cast<FrameId>(frames_.size());
  frames_.push_back(std::move(frame));
  numbers_.emplace(hash, id);
  return id;
}

}  // namespace jitscope
