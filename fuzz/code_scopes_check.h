// What must hold for any bytes given to decode_scopes(); shared by the fuzz target and by the test
// that replays its corpus. The first two bytes are the size of the body. Empty: all is well.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_cursor.h"
#include "formats/jitdump/code_scopes.h"

namespace jitscope::fuzz {

inline std::string_view check_rules(const CodeScopes& scopes, uint64_t body_size) {
  for (size_t i = 0; i < scopes.scopes.size(); ++i) {
    const CodeScopes::Scope& scope = scopes.scopes[i];
    if (scope.method >= scopes.methods.size()) return "a method out of range";
    if (scope.parent != CodeScopes::kNone && scope.parent >= i) return "a parent behind its child";
    if (scope.bci < -1) return "a bytecode index below none";
    size_t depth = 1;
    for (uint32_t at = scope.parent; at != CodeScopes::kNone; at = scopes.scopes[at].parent) {
      if (++depth > CodeScopes::kDeepest) return "a chain that is too deep";
    }
  }
  uint32_t end = 0;
  for (const CodeScopes::Range& range : scopes.ranges) {
    if (range.begin < end || range.begin >= range.end || range.end > body_size) {
      return "a range out of order";
    }
    if (range.scope >= scopes.scopes.size()) return "a scope out of range";
    if (range.begin > end && scopes.at(range.begin - 1) != nullptr) return "something in a gap";
    if (scopes.at(range.begin) != &range || scopes.at(range.end - 1) != &range) {
      return "a range that is not found";
    }
    end = range.end;
  }
  if (scopes.at(end) != nullptr) return "something behind the ranges";
  return {};
}

inline std::string_view check_code_scopes(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  const uint64_t body_size = cursor.u16();
  const auto payload = cursor.rest();
  const auto scopes = jitdump::decode_scopes(payload, body_size);
  if (!scopes) return {};
  if (auto wrong = check_rules(*scopes, body_size); !wrong.empty()) return wrong;
  std::string again;
  jitdump::encode_scopes(again, *scopes);
  if (scopes->ranges.empty()) return again.empty() ? "" : "nothing was encoded";
  // Numbers may be longer than they must be.
  if (again.empty() || again.size() > payload.size()) return "encoded again it is larger";
  const auto once_more = jitdump::decode_scopes(std::as_bytes(std::span(again)), body_size);
  if (!once_more || *once_more != *scopes) return "encoded and decoded again it is not the same";
  return {};
}

}  // namespace jitscope::fuzz
