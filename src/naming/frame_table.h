// FrameTable: equal frames get one number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "naming/frame.h"

namespace jitscope {

class FrameTable {
 public:
  FrameId number(Frame frame);
  [[nodiscard]] const Frame& operator[](FrameId id) const { return frames_[id]; }
  [[nodiscard]] const std::vector<Frame>& all() const { return frames_; }
  std::vector<Frame> take() { return std::move(frames_); }

 private:
  std::vector<Frame> frames_;
  static constexpr FrameId kNoFrame = UINT32_MAX;
  struct Slot {
    size_t hash = 0;
    FrameId id = kNoFrame;
  };
  void grow();
  std::vector<Slot> slots_;  // by hash, open addressing
};

}  // namespace jitscope
