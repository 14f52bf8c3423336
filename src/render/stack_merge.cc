#include "render/stack_merge.h"

#include <algorithm>
#include <utility>

namespace jitscope {
namespace {

// Children of each node as a linked list, with what is asked about each: nodes are visited in no
// order of memory.
struct Linked {
  uint32_t first_child = kNoNode;
  uint32_t next_sibling = kNoNode;
  uint32_t key = 0;
};

LargeVector<Linked> linked(std::span<const StackNode> nodes, std::span<const uint32_t> key_of_frame,
                           std::span<const uint8_t> used) {
  LargeVector<Linked> links(nodes.size());
  for (size_t i = nodes.size(); i-- > 1;) {
    if (used[i] == 0) continue;
    Linked& parent = links[nodes[i].parent];
    links[i].next_sibling = std::exchange(parent.first_child, static_cast<uint32_t>(i));
    links[i].key = key_of_frame[nodes[i].frame];
  }
  return links;
}

}  // namespace

std::vector<uint32_t> MergedStacks::subtree_ends() const {
  std::vector<uint32_t> ends(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    ends[i] = std::max(ends[i], static_cast<uint32_t>(i + 1));
    if (i != 0) ends[nodes[i].parent] = std::max(ends[nodes[i].parent], ends[i]);
  }
  return ends;
}

std::vector<uint8_t> used_stacks(std::span<const StackNode> nodes,
                                 std::span<const StackId> leaves) {
  std::vector<uint8_t> used(nodes.size(), 0);
  for (const StackId leaf : leaves) {
    if (leaf < nodes.size()) used[leaf] = 1;
  }
  for (size_t i = nodes.size(); i-- > 1;) {
    if (used[i] != 0) used[nodes[i].parent] = 1;
  }
  if (!used.empty()) used[kRootStack] = 1;
  return used;
}

MergedStacks merge_stacks(std::span<const StackNode> nodes, std::span<const uint32_t> key_of_frame,
                          std::span<const uint8_t> used) {
  struct Work {
    uint32_t parent;
    uint32_t key;
    uint32_t depth;
    size_t first_member;  // members: from here to the end of `members` when it is taken up
  };
  MergedStacks merged;
  merged.node.assign(nodes.size(), kNoNode);
  if (nodes.empty()) {
    merged.nodes.emplace_back();
    return merged;
  }
  const LargeVector<Linked> links = linked(nodes, key_of_frame, used);
  merged.nodes.reserve(
      static_cast<size_t>(std::ranges::count_if(used, [](uint8_t each) { return each != 0; })));
  std::vector<Work> work{{0, 0, 0, 0}};
  std::vector<uint32_t> members{kRootStack};
  std::vector<std::pair<uint32_t, uint32_t>> below;  // key, stack
  while (!work.empty()) {
    Work now = work.back();
    work.pop_back();
    while (true) {
      const auto index = static_cast<uint32_t>(merged.nodes.size());
      merged.nodes.push_back({now.parent, now.key, now.depth});
      if (members.size() == now.first_member + 1) {  // most nodes: one stack, with one below it
        StackId& stack = members.back();
        const uint32_t child = links[stack].first_child;
        if (child != kNoNode && links[child].next_sibling == kNoNode) {
          merged.node[stack] = index;
          stack = child;
          now = {index, links[child].key, now.depth + 1, now.first_member};
          continue;
        }
      }
      below.clear();
      for (size_t i = now.first_member; i < members.size(); ++i) {
        merged.node[members[i]] = index;
        for (uint32_t child = links[members[i]].first_child; child != kNoNode;
             child = links[child].next_sibling) {
          below.emplace_back(links[child].key, child);
        }
      }
      members.resize(now.first_member);
      if (below.empty()) break;
      if (below.size() == 1) {  // no need to go by way of `work`
        members.push_back(below[0].second);
        now = {index, below[0].first, now.depth + 1, now.first_member};
        continue;
      }
      // The greatest key first: what is pushed last is taken up first, its members at the end.
      std::sort(below.begin(), below.end(), std::greater<>());
      for (size_t i = 0; i < below.size(); ++i) {
        if (i == 0 || below[i].first != below[i - 1].first) {
          work.push_back({index, below[i].first, now.depth + 1, members.size()});
        }
        members.push_back(below[i].second);
      }
      break;
    }
  }
  return merged;
}

LabelledStacks split_by_label(std::span<const StackNode> nodes,
                              std::span<const LabelledLeaf> entries, uint32_t labels,
                              uint32_t first_label_frame) {
  LabelledStacks split;
  split.leaves.resize(entries.size());
  // Entries label by label (counting sort), so that one copy number a stack is enough.
  std::vector<size_t> start(labels + 1, 0);
  for (const LabelledLeaf& entry : entries) ++start[entry.label + 1];
  for (size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  std::vector<size_t> order(entries.size());
  std::vector<size_t> at = start;
  for (size_t i = 0; i < entries.size(); ++i) order[at[entries[i].label]++] = i;

  std::vector<StackId> copy(nodes.size(), kRootStack);
  std::vector<uint32_t> copied_for(nodes.size(), UINT32_MAX);
  std::vector<StackId> path;
  for (uint32_t label = 0; label < labels; ++label) {
    if (start[label] == start[label + 1]) continue;
    copy[kRootStack] = static_cast<StackId>(split.nodes.size());
    copied_for[kRootStack] = label;
    split.nodes.push_back({kRootStack, first_label_frame + label});
    for (size_t i = start[label]; i < start[label + 1]; ++i) {
      StackId stack = entries[order[i]].stack;
      path.clear();
      for (; copied_for[stack] != label; stack = nodes[stack].parent) path.push_back(stack);
      StackId parent = copy[stack];
      for (size_t k = path.size(); k-- > 0;) {
        copy[path[k]] = static_cast<StackId>(split.nodes.size());
        copied_for[path[k]] = label;
        split.nodes.push_back({parent, nodes[path[k]].frame});
        parent = copy[path[k]];
      }
      split.leaves[order[i]] = parent;
    }
  }
  return split;
}

}  // namespace jitscope
