// Element types: the first byte of each type in a signature (ECMA-335, II.23.1.16), and those of
// native images (CoreCLR: ELEMENT_TYPE_*_ZAPSIG).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace jitscope::ecma {

enum Element : uint8_t {
  kPointer = 0x0f,
  kByRef = 0x10,
  kValueType = 0x11,
  kClass = 0x12,
  kVar = 0x13,
  kArray = 0x14,
  kGenericInstance = 0x15,
  kFunctionPointer = 0x1b,
  kVector = 0x1d,  // an array of one dimension that begins at 0
  kMethodVar = 0x1e,
  kModifierRequired = 0x1f,
  kModifierOptional = 0x20,
  kSentinel = 0x41,  // behind it come the arguments of a vararg call
  kPinned = 0x45,
  kVarZap = 0x3b,
  kNativeValueType = 0x3d,
  kCanon = 0x3e,
  kModule = 0x3f,
};

struct Primitive {
  std::string_view il;
  std::string_view type;  // the type that it stands for
};
// Empty: none.
constexpr Primitive primitive(uint8_t element) {
  switch (element) {
    case 0x01:
      return {"void", "System.Void"};
    case 0x02:
      return {"bool", "System.Boolean"};
    case 0x03:
      return {"char", "System.Char"};
    case 0x04:
      return {"int8", "System.SByte"};
    case 0x05:
      return {"uint8", "System.Byte"};
    case 0x06:
      return {"int16", "System.Int16"};
    case 0x07:
      return {"uint16", "System.UInt16"};
    case 0x08:
      return {"int32", "System.Int32"};
    case 0x09:
      return {"uint32", "System.UInt32"};
    case 0x0a:
      return {"int64", "System.Int64"};
    case 0x0b:
      return {"uint64", "System.UInt64"};
    case 0x0c:
      return {"float32", "System.Single"};
    case 0x0d:
      return {"float64", "System.Double"};
    case 0x0e:
      return {"string", "System.String"};
    case 0x16:
      return {"typedref", "System.TypedReference"};
    case 0x18:
      return {"native int", "System.IntPtr"};
    case 0x19:
      return {"native uint", "System.UIntPtr"};
    case 0x1c:
      return {"object", "System.Object"};
    default:
      return {};
  }
}

// The first byte of a method's signature.
constexpr uint8_t kConventionMask = 0x0f;
constexpr uint8_t kGeneric = 0x10;
constexpr uint8_t kHasThis = 0x20;
constexpr uint8_t kExplicitThis = 0x40;

}  // namespace jitscope::ecma
