// StackTree: stacks as nodes of a tree, each below its caller's. Adding a sample walks from the
// root; nodes that were made together lie together, so that the walk stays in the cache.
#pragma once

#include <cstdint>
#include <vector>

#include "base/pair_table.h"
#include "profile/profile.h"

namespace jitscope {

class StackTree {
 public:
  // The node for `frame` called from `parent`.
  StackId child(StackId parent, FrameId frame) {
    uint32_t next = nodes_[parent].first_child;
    uint32_t last = 0;
    for (unsigned step = 0; next != 0; ++step) {
      const Node& node = nodes_[next];
      if (node.frame == frame) return next;
      if (step == kMostSiblings) return far_child(parent, frame);
      last = next;
      next = node.next_sibling;
    }
    const StackId fresh = add(parent, frame);
    (last == 0 ? nodes_[parent].first_child : nodes_[last].next_sibling) = fresh;
    return fresh;
  }
  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::vector<StackNode> take() {
    std::vector<StackNode> result;
    result.reserve(nodes_.size());
    for (const Node& node : nodes_) result.push_back({node.parent, node.frame});
    nodes_ = {};
    return result;
  }

 private:
  // Children beyond so many are found by hash.
  static constexpr unsigned kMostSiblings = 8;
  struct Node {
    FrameId frame = 0;
    StackId parent = kRootStack;
    uint32_t first_child = 0;
    uint32_t next_sibling = 0;
  };
  StackId add(StackId parent, FrameId frame) {
    nodes_.push_back({frame, parent, 0, 0});
    return static_cast<StackId>(nodes_.size() - 1);
  }
  StackId far_child(StackId parent, FrameId frame) {
    uint32_t& child = far_(parent, frame);
    if (child == PairTable::kNone) child = add(parent, frame);
    return child;
  }
  std::vector<Node> nodes_{Node{}};
  PairTable far_;
};

}  // namespace jitscope
