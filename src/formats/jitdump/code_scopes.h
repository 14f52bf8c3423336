// CodeScopes: which stretch of a body's code comes from which method, line and bytecode, with what
// was inlined where. The one line table of the project: a jitdump's DEBUG_INFO becomes one (without
// inlining), HotSpot's PcDescs become one, and it travels in jitscope's own jitdump record SCOPES.
//
// Offsets are bytes from the start of the body. A value without references; no system calls.
//
// Encoding (payload of the SCOPES record, behind the prefix and a u64 code_addr): all numbers
// ULEB128 (bci + 1, parent + 1, differences of sorted offsets), texts as length and bytes; version
// byte first. decode() is for hostile bytes: bounded by the length of the payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jitscope {

struct CodeScopes {
  static constexpr uint32_t kNone = UINT32_MAX;
  // Scopes in a chain from a leaf to the body, both counted: decode and encode allow no more, so
  // that walking a chain of a stranger's costs nothing.
  static constexpr uint32_t kDeepest = 256;

  struct Method {
    std::string
        name;  // as users see it: "java.util.HashMap.put(java.lang.Object,java.lang.Object)"
    std::string file;  // "java/util/HashMap.java"; "" when not known
    bool operator==(const Method&) const = default;
  };
  // A place in a method, inlined at another place: the leaf of a chain of callers.
  struct Scope {
    uint32_t parent =
        kNone;            // index of the call site's scope, smaller than its own; kNone: the body
    uint32_t method = 0;  // index into methods
    int32_t bci = -1;     // bytecode index; -1: not known
    uint32_t line = 0;    // 0: not known
    bool operator==(const Scope&) const = default;
  };
  // Code in [begin, end). Sorted by begin, never overlapping; gaps are code of which nothing is
  // known.
  struct Range {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t scope = 0;
    // False: known only at the safepoint where the range ends (HotSpot without DebugNonSafepoints);
    // the code before it is taken to belong to it.
    bool exact = false;
    bool operator==(const Range&) const = default;
  };

  std::vector<Method> methods;  // [0] is the body's own
  std::vector<Scope> scopes;
  std::vector<Range> ranges;

  bool operator==(const CodeScopes&) const = default;
  // The range that holds an offset, or null.
  [[nodiscard]] const Range* at(uint32_t offset) const;
  [[nodiscard]] bool any_inlined() const;  // a scope with a parent
};

namespace jitdump {

struct Load;

// Larger payloads are not written, and not read.
inline constexpr uint64_t kLargestScopes = 16U << 20U;
inline constexpr uint64_t kLongestScopeText = 64U << 10U;

// Payload of a SCOPES record. What cannot be said (an index out of range, unsorted ranges, a text
// with a NUL, more than the limits above) is an error of ours: such scopes are left out whole, and
// `out` stays as it was. So do those without ranges.
void encode_scopes(std::string& out, const CodeScopes& scopes);
// Errors: damaged. What comes out keeps all the rules above, and fits `body_size`
// (ranges end within it); texts hold no NUL.
Result<CodeScopes> decode_scopes(std::span<const std::byte> payload, uint64_t body_size);

// What a LOAD tells: its SCOPES when they are whole, else its DEBUG_INFO entries (each holds up to
// the next, exact; V8's bias is `bias`, see v8_line_bias). Empty ranges: it tells nothing.
[[nodiscard]] CodeScopes scopes_of(const Load& load, uint64_t bias);

}  // namespace jitdump
}  // namespace jitscope
