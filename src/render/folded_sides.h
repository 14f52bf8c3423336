// What folded text and recordings need to be compared: the two profiles of text that has two counts
// in each line, and names of threads where folded text has them as first frames.
#pragma once

#include <utility>

#include "profile/profile.h"

namespace jitscope {

// Whether it was read from text with two counts in each line.
[[nodiscard]] bool has_two_sides(const Profile& folded);
// Before and after, of a profile that has two sides.
[[nodiscard]] std::pair<Profile, Profile> split_sides(const Profile& folded);

// Folded text begins each stack with a frame that is the thread's name (jitscope,
// stackcollapse-perf.pl) or a function (others): nothing tells which. Beside a recording, whose
// threads are known, it is a name where more than half of the samples begin with the name of one of
// them: then the first frames become groups.
void take_thread_names(Profile& folded, const Profile& recording);

}  // namespace jitscope
