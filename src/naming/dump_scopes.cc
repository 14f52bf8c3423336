#include "naming/dump_scopes.h"

#include <algorithm>

namespace jitscope {
namespace {

// Deeper chains are cut: no compiler inlines so deep.
constexpr size_t kDeepest = 256;

}  // namespace

void DumpScopes::add(BodyId body, std::span<const std::byte> payload) {
  if (payload.empty()) return;
  places_.insert_or_assign(body, Place{payloads_.size(), payload.size()});
  payloads_.append(reinterpret_cast<const char*>(payload.data()), payload.size());
}

const CodeScopes* DumpScopes::of(BodyId body, uint64_t body_size) const {
  const auto place = places_.find(body);
  if (place == places_.end()) return nullptr;
  const auto [entry, fresh] = decoded_.try_emplace(body);
  if (fresh) {
    const auto payload = std::as_bytes(std::span<const char>(payloads_))
                             .subspan(place->second.begin, place->second.size);
    auto scopes = jitdump::decode_scopes(payload, body_size);
    if (scopes) entry->second = std::make_unique<const CodeScopes>(std::move(*scopes));
  }
  return entry->second.get();
}

ScopeChain chain_at(const CodeScopes& scopes, uint64_t offset) {
  ScopeChain chain;
  const auto after = std::ranges::upper_bound(scopes.ranges, offset, {}, &CodeScopes::Range::begin);
  if (after != scopes.ranges.end()) chain.high = after->begin - uint64_t{1};
  if (after == scopes.ranges.begin()) return chain;
  const CodeScopes::Range& range = *std::prev(after);
  if (offset >= range.end) {
    chain.low = range.end;
    return chain;
  }
  chain.low = range.begin;
  chain.high = range.end - uint64_t{1};
  chain.scope = range.scope;
  for (uint32_t at = range.scope; at != CodeScopes::kNone && chain.places.size() < kDeepest;
       at = scopes.scopes[at].parent) {
    chain.places.push_back(&scopes.scopes[at]);
  }
  return chain;
}

}  // namespace jitscope
