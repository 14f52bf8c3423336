#include "profile/stack_tree.h"

#include <algorithm>

namespace jitscope {

StackId StackTree::make(StackId parent, FrameId frame) {
  nodes_.push_back({frame, parent, 0, 0});
  return static_cast<StackId>(nodes_.size() - 1);
}

inline void StackTree::go_below(Place& place, StackId node) {
  const uint32_t child = nodes_[node].first_child;
  __builtin_prefetch(&nodes_[child]);
  place.node = node;
  place.next = child;
  place.last = 0;
  place.step = 0;
  if (place.path != nullptr) *place.path++ = node;
  ++place.frame;
}

// The child that was to come next is not there; another walk of the batch may have made it
// meanwhile.
void StackTree::step_beyond(Place& place) {
  uint32_t& link =
      place.last == 0 ? nodes_[place.node].first_child : nodes_[place.last].next_sibling;
  if (link != 0) {
    place.next = link;
    return;
  }
  // Not through `link`: nodes move.
  const StackId parent = place.node;
  const uint32_t last = place.last;
  const StackId fresh = make(parent, *place.frame);
  (last == 0 ? nodes_[parent].first_child : nodes_[last].next_sibling) = fresh;
  go_below(place, fresh);
}

// One look at one child: it is the one, or the next is looked at in the next turn, or it is made.
inline void StackTree::step(Place& place) {
  if (place.next == 0) {
    step_beyond(place);
    return;
  }
  const Node& child = nodes_[place.next];
  if (child.frame == *place.frame) {
    go_below(place, place.next);
    return;
  }
  if (++place.step == kMostSiblings) {
    uint32_t& far = far_(place.node, *place.frame);
    if (far == PairTable::kNone) far = make(place.node, *place.frame);
    go_below(place, far);
    return;
  }
  place.last = place.next;
  place.next = child.next_sibling;
  __builtin_prefetch(&nodes_[place.next]);
}

void StackTree::add(std::span<Walk> walks) {
  std::array<Place, kBatch> places{};
  std::array<Place*, kBatch> active{};
  while (!walks.empty()) {
    const size_t count = std::min(walks.size(), kBatch);
    size_t left = 0;
    for (size_t i = 0; i < count; ++i) {
      const Walk& walk = walks[i];
      Place& place = places[i];
      place = Place{};
      place.node = walk.start;
      place.next = nodes_[walk.start].first_child;
      place.frame = walk.frames.data();
      place.end = walk.frames.data() + walk.frames.size();
      place.path = walk.path;
      if (!walk.frames.empty()) active[left++] = &place;
    }
    while (left > 0) {
      size_t kept = 0;
      for (size_t k = 0; k < left; ++k) {
        Place* place = active[k];
        step(*place);
        active[kept] = place;
        kept += place->frame != place->end ? 1 : 0;
      }
      left = kept;
    }
    for (size_t i = 0; i < count; ++i) walks[i].node = places[i].node;
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
