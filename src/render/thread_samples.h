// The samples of a profile thread by thread: in the order of time when the profile has a timeline,
// else one for each stack. For formats that keep threads apart.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace jitscope {

struct ThreadSample {
  uint64_t time = 0;  // nanoseconds; 0 without a timeline
  StackId stack = kRootStack;
  uint64_t samples = 0;
  uint64_t weight = 0;
};

struct ThreadSamples {
  uint32_t group = 0;
  uint32_t event = 0;
  std::vector<ThreadSample> samples;
  uint64_t total_samples = 0;
  uint64_t total_weight = 0;
};

// Only threads and events with samples; the one with the most samples of each event first.
[[nodiscard]] std::vector<ThreadSamples> samples_by_thread(const Profile& profile);

}  // namespace jitscope
