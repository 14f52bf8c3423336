#include "profile/profile.h"

namespace jitscope {

std::vector<FrameId> Profile::frames_of(StackId stack) const {
  std::vector<FrameId> result;
  for (; stack != kRootStack; stack = nodes[stack].parent) result.push_back(nodes[stack].frame);
  return result;
}

}  // namespace jitscope
