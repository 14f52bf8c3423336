// Stacks merged by a key of their frames, in depth-first order.
//
// A profile keeps one node for each caller and frame; what is shown often tells fewer frames apart
// (two versions of a method, two lines). merge_stacks() joins siblings whose frames have the same
// key, all the way down, without a hash table: children are gathered and sorted parent by parent.
// In the result parents stand before children and each subtree is one run, so that sums, prefixes
// and paths need one pass and no recursion.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/large_pages.h"
#include "profile/profile.h"

namespace jitscope {

inline constexpr uint32_t kNoNode = UINT32_MAX;

struct MergedStacks {
  struct Node {
    uint32_t parent = 0;
    uint32_t key = 0;
    uint32_t depth = 0;  // the empty stack has 0
  };
  std::vector<Node> nodes;     // [0] is the empty stack; siblings by ascending key
  LargeVector<uint32_t> node;  // of each stack id; kNoNode for stacks that nothing uses

  // First index behind the subtree of each node.
  [[nodiscard]] std::vector<uint32_t> subtree_ends() const;
};

// 1 for each stack that is one of `leaves` or a caller's part of one.
[[nodiscard]] std::vector<uint8_t> used_stacks(std::span<const StackNode> nodes,
                                               std::span<const StackId> leaves);

// `key_of_frame` has an entry for each frame number in `nodes`. Stacks without `used` are left out.
[[nodiscard]] MergedStacks merge_stacks(std::span<const StackNode> nodes,
                                        std::span<const uint32_t> key_of_frame,
                                        std::span<const uint8_t> used);

// The same stacks apart for each label (a process, a thread): the label is the outermost frame,
// with the number `first_label_frame + label`.
struct LabelledStacks {
  std::vector<StackNode> nodes{StackNode{}};
  std::vector<StackId> leaves;  // for each entry
};
struct LabelledLeaf {
  uint32_t label = 0;
  StackId stack = kRootStack;
};
[[nodiscard]] LabelledStacks split_by_label(std::span<const StackNode> nodes,
                                            std::span<const LabelledLeaf> entries, uint32_t labels,
                                            uint32_t first_label_frame);

}  // namespace jitscope
