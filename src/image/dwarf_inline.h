// InlineTree: the inlined calls of one body as a tree, each with the stretches of code that came
// from it, out of CodeScopes. DWARF wants it so: one DW_TAG_inlined_subroutine a call, inside its
// caller.
//
// Two scopes belong to the same call when their callers are at the same place (line and bytecode)
// of the same call and the method is the same: what differs is only how far the inlined method has
// come. Made again and again, body by body, in the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/jitdump/code_scopes.h"

namespace jitscope {

class InlineTree {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  // Inlined calls within each other; deeper ones count as their callers. Fewer for a body of very
  // many ranges, so that the tree stays in proportion.
  static constexpr uint32_t kDeepest = 100;

  struct Node {
    uint32_t parent = kNone;
    uint32_t method = 0;
    uint32_t call_method = 0;  // whose file the call stands in
    uint32_t call_line = 0;
    int32_t call_bci = -1;
    uint32_t depth = 0;
    uint32_t first_span = kNone;
    uint32_t last_span = kNone;
    uint32_t spans = 0;
    uint32_t first_child = kNone;  // only calls that code came from are linked
    uint32_t last_child = kNone;
    uint32_t next_sibling = kNone;
  };
  struct Span {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t next = kNone;
  };
  // A range as it is to be shown: what makes no sense is left out, ends are cut to the body.
  struct Piece {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t scope = 0;  // not deeper than kDeepest
  };

  void build(const CodeScopes& scopes, uint64_t body_size);

  // [0] is the body itself and has no spans. Parents stand before their children.
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] const Span& code(uint32_t index) const { return spans_[index]; }
  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  // The scope without a parent that a scope leads to.
  [[nodiscard]] uint32_t outermost(uint32_t scope) const { return places_[scope].outermost; }

 private:
  struct Place {
    uint32_t node = kNone;  // kNone: the scope makes no sense
    uint32_t shown = 0;     // itself, or its caller when it is too deep
    uint32_t outermost = 0;
  };
  struct Slot {
    uint64_t round = 0;
    uint32_t node = 0;
  };

  void place_scopes(const CodeScopes& scopes, uint32_t deepest);
  uint32_t call(const CodeScopes& scopes, uint32_t caller_scope, uint32_t method);
  void take(const CodeScopes& scopes, uint64_t body_size);
  void put(uint32_t node, const Piece& piece);

  std::vector<Node> nodes_;
  std::vector<Span> spans_;
  std::vector<Piece> pieces_;
  std::vector<Place> places_;  // of each scope
  std::vector<Slot> slots_;    // open addressing, a power of two; valid when of this round
  uint64_t round_ = 0;
};

}  // namespace jitscope
