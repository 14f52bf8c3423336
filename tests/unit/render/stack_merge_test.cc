// Merged stacks are the same stacks, whatever is merged.
#include "render/stack_merge.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace jitscope {
namespace {

uint32_t draw(std::mt19937& random, uint32_t below) {
  return static_cast<uint32_t>(random() % below);
}

struct RandomStacks {
  std::vector<StackNode> nodes{StackNode{}};
  std::vector<StackId> leaves;
};

RandomStacks random_stacks(std::mt19937& random, uint32_t count, uint32_t frames) {
  RandomStacks stacks;
  for (uint32_t i = 0; i < count; ++i) {
    // Often below the last one, so that stacks get deep.
    const auto last = static_cast<uint32_t>(stacks.nodes.size() - 1);
    const StackId parent = draw(random, 3) == 0 ? draw(random, last + 1) : last;
    stacks.nodes.push_back({parent, draw(random, frames)});
    if (draw(random, 4) == 0) stacks.leaves.push_back(last + 1);
  }
  return stacks;
}

std::vector<uint32_t> path_of(std::span<const StackNode> nodes, StackId id,
                              std::span<const uint32_t> keys) {
  std::vector<uint32_t> path;
  for (; id != kRootStack; id = nodes[id].parent) path.push_back(keys[nodes[id].frame]);
  return path;
}

std::vector<uint32_t> path_of(const MergedStacks& merged, uint32_t node) {
  std::vector<uint32_t> path;
  for (; node != 0; node = merged.nodes[node].parent) path.push_back(merged.nodes[node].key);
  return path;
}

TEST(MergeStacks, KeepsPathsAndJoinsEqualOnes) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const RandomStacks stacks = random_stacks(random, 1 + draw(random, 60), 1 + draw(random, 6));
    std::vector<uint32_t> keys;
    for (int frame = 0; frame < 6; ++frame) keys.push_back(draw(random, 3));
    const std::vector<uint8_t> used = used_stacks(stacks.nodes, stacks.leaves);
    const MergedStacks merged = merge_stacks(stacks.nodes, keys, used);

    std::set<std::vector<uint32_t>> wanted{{}};
    for (StackId leaf : stacks.leaves) {
      for (; leaf != kRootStack; leaf = stacks.nodes[leaf].parent) {
        ASSERT_NE(used[leaf], 0);
        wanted.insert(path_of(stacks.nodes, leaf, keys));
        ASSERT_NE(merged.node[leaf], kNoNode);
        EXPECT_EQ(path_of(merged, merged.node[leaf]), path_of(stacks.nodes, leaf, keys));
      }
    }
    EXPECT_EQ(merged.nodes.size(), wanted.size()) << "a path is there twice, or an unused one";

    const std::vector<uint32_t> ends = merged.subtree_ends();
    for (uint32_t i = 1; i < merged.nodes.size(); ++i) {
      const MergedStacks::Node& node = merged.nodes[i];
      ASSERT_LT(node.parent, i);
      EXPECT_EQ(node.depth, merged.nodes[node.parent].depth + 1);
      EXPECT_LE(ends[i], ends[node.parent]) << "a subtree is one run";
      // Depth-first: the node before is the parent, or ends a sibling's subtree with a lower key.
      if (node.parent != i - 1) {
        uint32_t before = i - 1;
        while (merged.nodes[before].parent != node.parent) before = merged.nodes[before].parent;
        EXPECT_EQ(ends[before], i);
        EXPECT_LT(merged.nodes[before].key, node.key);
      }
    }
  }
}

TEST(MergeStacks, NothingAndAVeryDeepStack) {
  EXPECT_EQ(merge_stacks({}, {}, {}).nodes.size(), 1u);
  std::vector<StackNode> nodes{StackNode{}};
  for (uint32_t i = 0; i < 300'000; ++i) nodes.push_back({i, 0});
  const std::vector<StackId> leaves{300'000};
  const std::vector<uint32_t> keys{0};
  const MergedStacks merged = merge_stacks(nodes, keys, used_stacks(nodes, leaves));
  EXPECT_EQ(merged.nodes.back().depth, 300'000u);
}

TEST(SplitByLabel, EachLabelHasItsStacksOnly) {
  std::mt19937 random(6);
  for (int round = 0; round < 100; ++round) {
    const RandomStacks stacks = random_stacks(random, 1 + draw(random, 60), 5);
    std::vector<LabelledLeaf> entries;
    for (const StackId leaf : stacks.leaves) {
      entries.push_back({draw(random, 4), leaf});
      if (draw(random, 2) == 0) entries.push_back({draw(random, 4), leaf});
    }
    entries.push_back({2, kRootStack});
    const LabelledStacks split = split_by_label(stacks.nodes, entries, 4, 100);
    const std::vector<uint32_t> keys = [] {
      std::vector<uint32_t> all(104);
      for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
      return all;
    }();
    std::set<std::vector<uint32_t>> paths{{}};
    for (size_t i = 0; i < entries.size(); ++i) {
      std::vector<uint32_t> wanted = path_of(stacks.nodes, entries[i].stack, keys);
      wanted.push_back(100 + entries[i].label);
      EXPECT_EQ(path_of(split.nodes, split.leaves[i], keys), wanted);
    }
    for (StackId id = 1; id < split.nodes.size(); ++id) ASSERT_LT(split.nodes[id].parent, id);
  }
}

}  // namespace
}  // namespace jitscope
