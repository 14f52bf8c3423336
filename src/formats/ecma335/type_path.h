// A type with the types around it, and how its name is spelled. Of signatures of types see
// signatures.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/ecma335/metadata.h"

namespace jitscope {

// Texts that are longer, or types that lie deeper, are taken for damage.
constexpr size_t kMostEcmaText = 16U << 10U;
constexpr size_t kMostEcmaNesting = 32;

struct EcmaTypePath {
  std::vector<EcmaToken> types;  // from the outermost to the type itself
  EcmaToken outside;             // what the outermost of a TypeRef lies in, e.g. an AssemblyRef
};
// Of a TypeDef or TypeRef. Empty: there is no such row, or they lie too deep, as
// when they go round in a circle.
[[nodiscard]] EcmaTypePath type_path(const EcmaMetadata& metadata, EcmaToken type);

enum class EcmaSpelling : uint8_t {
  runtime,  // "System.Collections.Generic.Dictionary`2+Enumerator[System.String,System.Int32]"
  csharp,   // "System.Collections.Generic.Dictionary<System.String,System.Int32>+Enumerator"
};

// `arguments`: those of all types of the path together. Nothing is appended when it is too long.
[[nodiscard]] bool append_type_name(std::string& out, const EcmaMetadata& metadata,
                                    const EcmaTypePath& path,
                                    std::span<const std::string> arguments, EcmaSpelling spelling);

// As in IL: "[System.Runtime]System.Environment/SpecialFolder"
[[nodiscard]] bool append_il_name(std::string& out, const EcmaMetadata& metadata,
                                  const EcmaTypePath& path);

// False, and the text is as before, when it would be longer than kMostEcmaText.
[[nodiscard]] bool append_bounded(std::string& out, std::string_view text);

}  // namespace jitscope
