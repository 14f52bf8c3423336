// What JitNames asks of a process and of those that it was forked from.
#include <algorithm>

#include "naming/jit_names.h"

namespace jitscope {
namespace {

bool same_mapping(const MappedRange* mine, const MappedRange* other) {
  return mine != nullptr && other != nullptr && mine->start == other->start &&
         mine->file == other->file;
}

}  // namespace

JitSources& JitNames::sources(ProcessLife& life) {
  if (life.sources == nullptr) life.sources = std::make_unique<JitSources>(context_, life);
  return static_cast<JitSources&>(*life.sources);
}

std::optional<JitAnswer> JitNames::timed(ProcessLife& life, const MappedRange& range,
                                         uint64_t address, uint64_t time, NoBody& none,
                                         AddressRange& reach) {
  auto own = sources(life).timed(address, time, none, reach);
  // What is only about to come does not hide what was inherited.
  if (own && !own->by_grace) return own;
  const ProcessLife* child = &life;
  uint64_t limit = time;
  while (child->parent != nullptr) {
    ProcessLife& parent = *child->parent;
    if (!child->uncertain_parent && !range.shared) limit = std::min(limit, child->forked_at);
    if (child->uncertain_parent) {
      reach.narrow(address, address);
      if (!same_mapping(&range, parent.space.at(address))) break;
    }
    if (auto answer = sources(parent).timed(address, limit, none, reach)) {
      if (own && answer->by_grace) return own;
      if (limit != time) {
        answer->valid_from = time;
        answer->valid_until = kForever;
      }
      // Until the child writes something of its own there.
      answer->valid_until = std::min(answer->valid_until, own ? time + 1 : none.until);
      return answer;
    }
    child = &parent;
  }
  return own;
}

std::optional<JitAnswer> JitNames::untimed(ProcessLife& life, const MappedRange& range,
                                           uint64_t address, AddressRange& reach) {
  if (auto answer = sources(life).untimed(address, reach)) return answer;
  const ProcessLife* child = &life;
  while (child->parent != nullptr) {
    ProcessLife& parent = *child->parent;
    if (child->uncertain_parent) {
      reach.narrow(address, address);
      if (!same_mapping(&range, parent.space.at(address))) break;
    }
    if (auto answer = sources(parent).untimed(address, reach)) return answer;
    child = &parent;
  }
  return std::nullopt;
}

}  // namespace jitscope
