// FrameTable: equal frames get one number. Frames whose numbers another thread was told may be read
// there while more are numbered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/stable_vector.h"
#include "naming/frame.h"

namespace jitscope {

class FrameTable {
 public:
  FrameId number(Frame frame);
  [[nodiscard]] const Frame& operator[](FrameId id) const { return frames_[id]; }
  [[nodiscard]] size_t size() const { return frames_.size(); }
  // All of them; the table is empty then.
  std::vector<Frame> take() { return frames_.take(); }

 private:
  StableVector<Frame> frames_;
  static constexpr FrameId kNoFrame = UINT32_MAX;
  struct Slot {
    size_t hash = 0;
    FrameId id = kNoFrame;
  };
  void grow();
  std::vector<Slot> slots_;  // by hash, open addressing
};

}  // namespace jitscope
