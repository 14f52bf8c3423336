#include "image/dwarf_inline.h"

#include <algorithm>
#include <bit>

namespace jitscope {

uint32_t InlineTree::call(const CodeScopes& scopes, uint32_t caller_scope, uint32_t method) {
  const CodeScopes::Scope& caller = scopes.scopes[caller_scope];
  const uint32_t parent = places_[caller_scope].node;
  uint64_t hash = (uint64_t{parent} << 32U) ^ caller.line;
  hash = (hash ^ (hash >> 29U)) * 0x9e3779b97f4a7c15U;
  hash ^= (static_cast<uint64_t>(static_cast<uint32_t>(caller.bci)) << 32U) ^ method;
  hash = (hash ^ (hash >> 31U)) * 0xd6e8feb86659fd93U;
  const size_t mask = slots_.size() - 1;
  size_t i = (hash >> 32U) & mask;
  for (; slots_[i].round == round_; i = (i + 1) & mask) {
    const Node& node = nodes_[slots_[i].node];
    if (node.parent == parent && node.method == method && node.call_method == caller.method &&
        node.call_line == caller.line && node.call_bci == caller.bci) {
      return slots_[i].node;
    }
  }
  const auto made = static_cast<uint32_t>(nodes_.size());
  slots_[i] = {round_, made};
  Node node;
  node.parent = parent;
  node.method = method;
  node.call_method = caller.method;
  node.call_line = caller.line;
  node.call_bci = caller.bci;
  node.depth = nodes_[parent].depth + 1;
  nodes_.push_back(node);
  return made;
}

void InlineTree::place_scopes(const CodeScopes& scopes, uint32_t deepest) {
  places_.clear();
  places_.resize(scopes.scopes.size());
  for (uint32_t i = 0; i < scopes.scopes.size(); ++i) {
    const CodeScopes::Scope& scope = scopes.scopes[i];
    if (scope.method >= scopes.methods.size()) continue;
    Place& place = places_[i];
    if (scope.parent == CodeScopes::kNone) {
      place = {0, i, i};
      continue;
    }
    if (scope.parent >= i || places_[scope.parent].node == kNone) continue;
    const Place& caller = places_[scope.parent];
    if (caller.shown != scope.parent || nodes_[caller.node].depth >= deepest) {
      place = caller;
    } else {
      place = {call(scopes, scope.parent, scope.method), i, caller.outermost};
    }
  }
}

void InlineTree::put(uint32_t node, const Piece& piece) {
  while (node != 0) {
    Node& call = nodes_[node];
    if (call.last_span != kNone && spans_[call.last_span].end == piece.begin) {
      spans_[call.last_span].end = piece.end;
    } else {
      const auto made = static_cast<uint32_t>(spans_.size());
      spans_.push_back({piece.begin, piece.end, kNone});
      if (call.last_span == kNone) {
        call.first_span = made;
      } else {
        spans_[call.last_span].next = made;
      }
      call.last_span = made;
      ++call.spans;
    }
    node = call.parent;
  }
}

void InlineTree::take(const CodeScopes& scopes, uint64_t body_size) {
  uint32_t covered = 0;
  for (const CodeScopes::Range& range : scopes.ranges) {
    const auto end = static_cast<uint32_t>(std::min<uint64_t>(range.end, body_size));
    if (range.begin < covered || range.begin >= end || range.scope >= places_.size()) continue;
    const Place& place = places_[range.scope];
    if (place.node == kNone) continue;
    covered = end;
    const Piece piece{range.begin, end, place.shown};
    pieces_.push_back(piece);
    put(place.node, piece);
  }
}

void InlineTree::build(const CodeScopes& scopes, uint64_t body_size) {
  nodes_.assign(1, Node{});
  spans_.clear();
  pieces_.clear();
  ++round_;
  const size_t wanted = std::bit_ceil(std::max<size_t>(scopes.scopes.size() * 2, 16));
  if (slots_.size() < wanted) slots_.assign(wanted, Slot{});
  constexpr uint64_t most_spans = 1U << 22U;
  const uint64_t deepest =
      std::clamp<uint64_t>(most_spans / (scopes.ranges.size() + 1), 4, kDeepest);
  place_scopes(scopes, static_cast<uint32_t>(deepest));
  take(scopes, body_size);
  for (uint32_t i = 1; i < nodes_.size(); ++i) {
    if (nodes_[i].first_span == kNone) continue;
    Node& parent = nodes_[nodes_[i].parent];
    if (parent.last_child == kNone) {
      parent.first_child = i;
    } else {
      nodes_[parent.last_child].next_sibling = i;
    }
    parent.last_child = i;
  }
}

}  // namespace jitscope
