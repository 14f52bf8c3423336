// What a look changes; see known_bodies.h.
#include "capture/known_bodies.h"

#include <algorithm>
#include <utility>

namespace jitscope {
namespace {

// Whether one of the bodies, which are sorted by address, covers a byte of the range.
bool covered(const std::vector<const CodeBody*>& bodies, uint64_t address, uint64_t size) {
  const auto behind = std::ranges::lower_bound(bodies, address + size, {}, &CodeBody::address);
  if (behind == bodies.begin()) return false;
  const CodeBody& last = **(behind - 1);
  return last.address + last.size > address;
}

}  // namespace

KnownBodies::Changes KnownBodies::update(const Snapshot& snapshot, uint64_t largest) {
  ++look_;
  Changes changes;
  for (const CodeBody& body : snapshot.bodies) {
    if (body.size > largest) {
      ++changes.skipped;
      continue;
    }
    const auto [entry, added] =
        known_.try_emplace({body.address, body.version}, Kept{body.size, body.name, 0});
    Kept& kept = entry->second;
    kept.look = look_;
    if (!added) {
      const bool same =
          kept.size == body.size && (kept.name == body.name || kept.name->raw == body.name->raw);
      if (same) continue;
      changes.gone.push_back({body.address, kept.size});
      kept.size = body.size;
      kept.name = body.name;
    }
    changes.fresh.push_back(&body);
  }
  std::erase_if(known_, [&](const auto& entry) {
    const auto& [key, kept] = entry;
    if (kept.look == look_) return false;
    if (snapshot.torn != 0 && !covered(changes.fresh, key.address, kept.size)) return false;
    changes.gone.push_back({key.address, kept.size});
    return true;
  });
  return changes;
}

std::vector<KnownBodies::Gone> KnownBodies::clear() {
  std::vector<Gone> gone;
  gone.reserve(known_.size());
  for (const auto& [key, kept] : known_) gone.push_back({key.address, kept.size});
  known_.clear();
  return gone;
}

}  // namespace jitscope
