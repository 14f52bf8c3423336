// StackTree: stacks as nodes of a tree, each below its caller's.
//
// A recording has millions of nodes, far more than caches hold: a walk waits for memory at each
// step. So stacks are added in batches, a step of each in turn, and the node that a stack needs
// next is fetched while the others take their steps. What of a stack is new is made at once, as one
// run of nodes, so that most walks go along runs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/growing_array.h"
#include "base/pair_table.h"
#include "profile/profile.h"

namespace jitscope {

class StackTree {
 public:
  static constexpr size_t kBatch = 32;
  // A stack to be added; `node` is the result.
  struct Walk {
    std::span<const FrameId> frames;  // below `start`, root first
    StackId start = kRootStack;
    StackId* path = nullptr;  // gets the node of each of the frames, unless it is nullptr
    StackId node = kRootStack;
  };

  StackTree() { nodes_.push_back({}); }
  // All stacks of the batch; equal ones get the same node.
  void add(std::span<Walk> walks);
  // Fetches the node that a walk begins at soon.
  void prefetch(StackId start) const { __builtin_prefetch(&nodes_[start]); }
  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::vector<StackNode> take();

 private:
  static constexpr size_t kNodesOfLine = 4;
  // Children beyond so many are found by hash.
  static constexpr unsigned kMostSiblings = 4;
  struct Node {
    FrameId frame = 0;
    StackId parent = kRootStack;
    uint32_t first_child = 0;
    uint32_t next_sibling = 0;
  };
  // Where a walk stands: below `node`, about to look at the child `next`.
  struct Place {
    StackId node = kRootStack;
    uint32_t next = 0;
    uint32_t last = 0;               // the sibling before `next`
    unsigned step = 0;               // how many children were looked at
    const FrameId* frame = nullptr;  // the next one
    const FrameId* end = nullptr;
    StackId* path = nullptr;
  };
  void go_below(Place& place, StackId node);
  void step(Place& place);
  void step_beyond(Place& place);
  void step_far(Place& place);
  StackId make_rest(Place& place);

  GrowingArray<Node> nodes_;
  PairTable far_;
};

}  // namespace jitscope
