// The Firefox Profiler's "processed profile" JSON, version 54 (newer viewers bring it up to their
// own): one thread for each thread and event, tables of stacks, frames and functions in each,
// categories by the kind of code with subcategories by tier. Times come from the timeline; without
// one each stack is one sample whose weight is its count.
#pragma once

#include <cstdint>
#include <string>

#include "profile/profile.h"

namespace jitscope {

struct FirefoxOptions {
  std::string product = "jitscope";
  uint64_t wall_clock_start = 0;  // nanoseconds since 1970; 0 when not known
};

[[nodiscard]] std::string firefox_profile(const Profile& profile,
                                          const FirefoxOptions& options = {});

}  // namespace jitscope
