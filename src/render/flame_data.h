// The data block of a flame page: JSON with the stacks in it packed.
//
// `nodes` is the merged tree in depth-first order, base64 of varints: frame, then how many levels
// up from a child of the node before. `entries` are the stacks' counts, base64 of varints: distance
// of the node to the one of the entry before, group, event, side (0, or 1 for the second profile of
// a comparison), samples, weight. Frames are columns of numbers into `strings`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "render/flame_page.h"

namespace jitscope {

[[nodiscard]] std::string flame_data(std::span<const Profile* const> sides,
                                     std::span<const std::string> side_names,
                                     const FlameOptions& options);

}  // namespace jitscope
