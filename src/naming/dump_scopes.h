// DumpScopes: lines and inlining of the bodies of one dump, kept as they were written (some bytes a
// range) and decoded for the bodies that are asked for.
//
// Not thread-safe: asking decodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "code/timeline.h"
#include "formats/jitdump/code_scopes.h"

namespace jitscope {

class DumpScopes {
 public:
  void add(BodyId body, std::span<const std::byte> payload);
  // Null when there are none, or damaged ones. Valid as long as this object lives.
  [[nodiscard]] const CodeScopes* of(BodyId body, uint64_t body_size) const;
  [[nodiscard]] bool empty() const { return places_.empty(); }

 private:
  struct Place {
    uint64_t begin = 0;
    uint64_t size = 0;
  };
  std::string payloads_;
  std::unordered_map<BodyId, Place> places_;
  mutable std::unordered_map<BodyId, std::unique_ptr<const CodeScopes>> decoded_;
};

// What the scopes say of an offset: the chain from the innermost place to the body's own, empty
// where they say nothing, and the offsets [low, high] for which they say the same.
struct ScopeChain {
  std::vector<const CodeScopes::Scope*> places;
  uint32_t scope = CodeScopes::kNone;  // index of the innermost
  uint64_t low = 0;
  uint64_t high = UINT64_MAX;
};
[[nodiscard]] ScopeChain chain_at(const CodeScopes& scopes, uint64_t offset);

}  // namespace jitscope
