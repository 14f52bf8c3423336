// ImagePlaces: which image of a set each body belongs to, and which bodies belong to none, counted
// by why. Relies on EpochPlan; asked in the order of who has the first right to an address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/image_set.h"

namespace jitscope {

class ImagePlaces {
 public:
  // A code body of more bytes than this is no code body.
  static constexpr uint64_t kLargestBody = 64U << 20U;

  // `packed`: each body gets a place of its own, so that one image takes all.
  explicit ImagePlaces(bool packed) : packed_(packed) {}
  std::optional<uint32_t> place(uint64_t address, uint64_t size);
  // What was left out, in words for the user.
  void note(std::vector<std::string>& notes) const;

 private:
  bool packed_;
  EpochPlan epochs_;
  uint64_t unusable_ = 0;
  uint64_t out_of_reach_ = 0;
  uint64_t too_many_ = 0;
};

// "WHAT: 12", unless there are none.
void note_bodies(std::vector<std::string>& notes, uint64_t count, std::string_view what);

}  // namespace jitscope
