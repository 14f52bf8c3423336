#include "profile/stack_tree.h"

#include <algorithm>

namespace jitscope {

inline void StackTree::go_below(Place& place, StackId node) {
  place.node = node;
  place.next = nodes_[node].first_child;
  place.last = 0;
  place.step = 0;
  if (place.path != nullptr) *place.path++ = node;
  ++place.frame;
}

// What is left of the stack below `place.node`, all of it new: one run of nodes.
StackId StackTree::make_rest(Place& place) {
  const auto first = static_cast<StackId>(nodes_.size());
  const auto count = static_cast<size_t>(place.end - place.frame);
  nodes_.grow_to(first + count);
  StackId parent = place.node;
  for (StackId id = first; place.frame != place.end; ++id) {
    nodes_[id] = {*place.frame++, parent, place.frame != place.end ? id + 1 : 0, 0};
    if (place.path != nullptr) *place.path++ = id;
    parent = id;
  }
  place.node = parent;
  return first;
}

// The child that was to come next is not there; another walk of the batch may have made it
// meanwhile.
void StackTree::step_beyond(Place& place) {
  const StackId parent = place.node;
  const uint32_t last = place.last;
  const auto link = [&]() -> uint32_t& {  // anew each time: nodes move
    return last == 0 ? nodes_[parent].first_child : nodes_[last].next_sibling;
  };
  if (link() != 0) {
    place.next = link();
    return;
  }
  const StackId fresh = make_rest(place);
  link() = fresh;
}

// There are more children than are looked at.
void StackTree::step_far(Place& place) {
  uint32_t& far = far_(place.node, *place.frame);
  if (far == PairTable::kNone) {
    far = make_rest(place);
    return;
  }
  go_below(place, far);
  __builtin_prefetch(&nodes_[place.next]);
}

// One look at one child: it is the one, or the next is looked at in the next turn, or it is made.
// Nodes that were made at once lie side by side: along those it goes on.
inline void StackTree::step(Place& place) {
  if (place.step == kMostSiblings) {
    step_far(place);
    return;
  }
  if (place.next == 0) {
    step_beyond(place);
    return;
  }
  while (nodes_[place.next].frame == *place.frame) {
    go_below(place, place.next);
    if (place.frame == place.end) return;
    if (place.next != place.node + 1 || place.next % kNodesOfLine == 0) {
      __builtin_prefetch(&nodes_[place.next]);
      return;
    }
  }
  if (++place.step == kMostSiblings) {
    far_.prefetch(place.node, *place.frame);
    return;
  }
  place.last = place.next;
  place.next = nodes_[place.next].next_sibling;
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
