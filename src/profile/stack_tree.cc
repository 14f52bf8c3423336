#include "profile/stack_tree.h"

#include <algorithm>

namespace jitscope {

StackId StackTree::make(StackId parent, FrameId frame) {
  nodes_.push_back({frame, parent, 0, 0});
  return static_cast<StackId>(nodes_.size() - 1);
}

void StackTree::go_below(Place& place, StackId node) {
  place.node = node;
  place.next = nodes_[node].first_child;
  place.last = 0;
  place.step = 0;
  if (place.path != nullptr) place.path[place.frame] = node;
  ++place.frame;
  __builtin_prefetch(&nodes_[place.next]);
}

// One look at one child: it is the one, or the next is looked at in the next turn, or it is made.
void StackTree::step(Place& place, FrameId frame) {
  // Another walk of the batch may have made the child meanwhile.
  if (place.next == 0) {
    place.next = place.last == 0 ? nodes_[place.node].first_child : nodes_[place.last].next_sibling;
  }
  if (place.next == 0) {
    const StackId fresh = make(place.node, frame);
    (place.last == 0 ? nodes_[place.node].first_child : nodes_[place.last].next_sibling) = fresh;
    go_below(place, fresh);
    return;
  }
  const Node& child = nodes_[place.next];
  if (child.frame == frame) {
    go_below(place, place.next);
    return;
  }
  if (++place.step == kMostSiblings) {
    uint32_t& far = far_(place.node, frame);
    if (far == PairTable::kNone) far = make(place.node, frame);
    go_below(place, far);
    return;
  }
  place.last = place.next;
  place.next = child.next_sibling;
  __builtin_prefetch(&nodes_[place.next]);
}

void StackTree::add(std::span<Walk> walks) {
  std::array<Place, kBatch> places{};
  std::array<uint8_t, kBatch> active{};
  while (!walks.empty()) {
    const size_t count = std::min(walks.size(), kBatch);
    size_t left = 0;
    for (size_t i = 0; i < count; ++i) {
      const StackId start = walks[i].start;
      places[i] = Place{};
      places[i].node = start;
      places[i].next = nodes_[start].first_child;
      places[i].path = walks[i].path;
      if (!walks[i].frames.empty()) active[left++] = static_cast<uint8_t>(i);
      walks[i].node = start;
    }
    while (left > 0) {
      size_t kept = 0;
      for (size_t k = 0; k < left; ++k) {
        const uint8_t i = active[k];
        Place& place = places[i];
        step(place, walks[i].frames[place.frame]);
        if (place.frame < walks[i].frames.size()) {
          active[kept++] = i;
        } else {
          walks[i].node = place.node;
        }
      }
      left = kept;
    }
    walks = walks.subspan(count);
  }
}

std::vector<StackNode> StackTree::take() {
  std::vector<StackNode> result;
  result.reserve(nodes_.size());
  for (const Node& node : nodes_) result.push_back({node.parent, node.frame});
  nodes_ = {};
  return result;
}

}  // namespace jitscope
