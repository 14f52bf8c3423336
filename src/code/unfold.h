// Unfolding: the ranges of perf map lines out of a body's scopes, so that a tool that knows only
// perf maps shows inlined methods (the options of perf-map-agent, with its faults mended).
//
//  none     one line a body, named as the body
//  simple   "unfoldsimple": each range is named by its innermost method alone
//  inlined  "unfold": "innermost in outermost" where something is inlined, else the body's name
//  all      "unfoldall": the whole chain, "outermost->...->innermost"
// A new range begins where any part of the chain changes (also a caller alone, where that shows in
// the name or its position); lines of one name that touch are joined. Gaps of the scopes belong to
// the body itself. Positions are those of the range's own first place, never of the declaration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "code/code_body.h"
#include "formats/jitdump/code_scopes.h"

namespace jitscope {

enum class Unfold : uint8_t { none, simple, inlined, all };

// How methods are spelled; as perf-map-agent's users know the options (docs/map.md).
struct NameStyle {
  bool signature = false;        // msig: with parameters
  bool dotted_class = true;      // java.lang.String, else java/lang/String
  bool clean_class = true;       // without this "Ljava/lang/String;" where the class is not dotted
  bool source_position = false;  // sourcepos: "(String.java:12)" behind each method
};

struct UnfoldedRange {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string name;
  bool operator==(const UnfoldedRange&) const = default;
};

// By address; they cover the body without gap or overlap. `scopes` may be null. `name`: of the
// body.
[[nodiscard]] std::vector<UnfoldedRange> unfold(uint64_t address, uint64_t size,
                                                const MethodName& name, const CodeScopes* scopes,
                                                Unfold how, const NameStyle& style);

}  // namespace jitscope
