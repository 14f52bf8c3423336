// Signatures of methods and types (ECMA-335, II.23.2) as text. No system calls.
//
// The bytes are hostile: types nest at most kMostEcmaNesting deep, one text is made in at most
// kMostEcmaSteps steps (one an element, whatever TypeSpecs refer to) and has at most kMostEcmaText
// bytes (type_path.h). What is beyond that, or unknown, is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_cursor.h"
#include "base/result.h"
#include "formats/ecma335/metadata.h"
#include "formats/ecma335/type_path.h"

namespace jitscope {

constexpr uint32_t kMostEcmaSteps = 4096;
constexpr uint32_t kMostEcmaRank = 32;  // of an array

// In images of native code a type can be one of another module (0x3f, "module override").
class EcmaModules {
 public:
  EcmaModules() = default;
  EcmaModules(const EcmaModules&) = delete;
  EcmaModules& operator=(const EcmaModules&) = delete;
  EcmaModules(EcmaModules&&) = delete;
  EcmaModules& operator=(EcmaModules&&) = delete;
  virtual ~EcmaModules() = default;
  // Null: there is none, or its metadata is not at hand.
  [[nodiscard]] virtual const EcmaMetadata* module(uint32_t index) const = 0;
};

// As CoreCLR prints a method's signature (PrettyPrintSig), which is how ildasm does:
// "instance class [System.Runtime]System.Type NAME(int32,!0&)".
[[nodiscard]] Result<std::string> il_method(const EcmaMetadata& metadata,
                                            std::span<const std::byte> signature,
                                            std::string_view name);

// The type at the cursor, which is then behind it. Its tokens are those of `metadata`, unless they
// name a module of their own; null: they must. As CoreCLR prints type handles (TypeString).
[[nodiscard]] Result<std::string> type_text(ByteCursor& cursor, const EcmaMetadata* metadata,
                                            const EcmaModules* modules, EcmaSpelling spelling);

// The same without a text.
[[nodiscard]] Status skip_type(ByteCursor& cursor);

// What a class or structure at the cursor, generic or not, is an instance of: a TypeDef or TypeRef
// and the module whose it is. Nothing: another kind of type, or a module that is not at hand.
struct EcmaTypeHead {
  const EcmaMetadata* metadata = nullptr;
  EcmaToken type;
};
[[nodiscard]] std::optional<EcmaTypeHead> type_head(ByteCursor cursor, const EcmaMetadata* metadata,
                                                    const EcmaModules* modules);

}  // namespace jitscope
