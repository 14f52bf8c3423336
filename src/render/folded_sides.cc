// Sides and thread names of folded text; see folded_sides.h.
#include "render/folded_sides.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "render/folded.h"

namespace jitscope {
namespace {

Profile side_of(const Profile& folded, uint32_t event) {
  Profile side = folded;
  side.events = {folded.events[event]};
  side.events[0].name.erase(0, (event == 0 ? kFoldedBefore : kFoldedAfter).size());
  std::erase_if(side.stacks, [&](const StackWeight& each) { return each.event != event; });
  side.samples = 0;
  for (StackWeight& each : side.stacks) {
    each.event = 0;
    side.samples += each.samples;
  }
  return side;
}

// Of each node the outermost one above it, itself where it is that; the empty stack's is 0.
std::vector<StackId> outermost(const Profile& profile) {
  std::vector<StackId> first(profile.nodes.size(), kRootStack);
  for (StackId id = 1; id < profile.nodes.size(); ++id) {
    const StackId parent = profile.nodes[id].parent;
    first[id] = parent == kRootStack ? id : first[parent];
  }
  return first;
}

// As folded text spells them.
std::unordered_set<std::string> thread_names(const Profile& recording) {
  std::unordered_set<std::string> names;
  for (const Group& group : recording.groups) {
    std::string name = group.comm;
    std::ranges::replace(name, ' ', '_');
    names.insert(std::move(name));
  }
  return names;
}

}  // namespace

bool has_two_sides(const Profile& folded) {
  return folded.events.size() == 2 && folded.events[0].name.starts_with(kFoldedBefore) &&
         folded.events[1].name.starts_with(kFoldedAfter);
}

std::pair<Profile, Profile> split_sides(const Profile& folded) {
  return {side_of(folded, 0), side_of(folded, 1)};
}

void take_thread_names(Profile& folded, const Profile& recording) {
  const std::unordered_set<std::string> names = thread_names(recording);
  const std::vector<StackId> first = outermost(folded);
  const auto name_of = [&](StackId stack) -> const std::string& {
    return folded.frames[folded.nodes[first[stack]].frame].method;
  };
  uint64_t named = 0;
  for (const StackWeight& each : folded.stacks) {
    if (each.stack != kRootStack && names.contains(name_of(each.stack))) named += each.samples;
  }
  if (named <= folded.samples / 2) return;
  std::vector<Group> groups;
  std::vector<uint32_t> group_of(folded.nodes.size(), UINT32_MAX);
  for (StackWeight& each : folded.stacks) {
    if (each.stack == kRootStack) continue;
    uint32_t& group = group_of[first[each.stack]];
    if (group == UINT32_MAX) {
      group = static_cast<uint32_t>(groups.size());
      groups.push_back({0, 0, name_of(each.stack), name_of(each.stack)});
    }
    each.group = group;
    if (each.stack == first[each.stack]) each.stack = kRootStack;
  }
  for (StackId id = 1; id < folded.nodes.size(); ++id) {
    StackNode& node = folded.nodes[id];
    if (node.parent != kRootStack && node.parent == first[node.parent]) node.parent = kRootStack;
  }
  if (!groups.empty()) folded.groups = std::move(groups);
}

}  // namespace jitscope
