// See tables.h.
#include "formats/ecma335/tables.h"

namespace jitscope {
namespace {

constexpr EcmaField kU16{EcmaColumn::u16};
constexpr EcmaField kU32{EcmaColumn::u32};
constexpr EcmaField kString{EcmaColumn::string};
constexpr EcmaField kGuid{EcmaColumn::guid};
constexpr EcmaField kBlob{EcmaColumn::blob};

constexpr EcmaField row(uint8_t table) {
  return {EcmaColumn::row, table};
}
constexpr EcmaField coded(EcmaCoded kind) {
  return {EcmaColumn::coded, static_cast<uint8_t>(kind)};
}

constexpr EcmaField kType = coded(EcmaCoded::type_def_or_ref);

constexpr std::array<EcmaRow, kEcmaTables> kRows = {{
    {kU16, kString, kGuid, kGuid, kGuid},                    // 00 Module
    {coded(EcmaCoded::resolution_scope), kString, kString},  // 01 TypeRef
    {kU32, kString, kString, kType, row(0x04), row(0x06)},   // 02 TypeDef
    {row(0x04)},                                             // 03 FieldPtr
    {kU16, kString, kBlob},                                  // 04 Field
    {row(0x06)},                                             // 05 MethodPtr
    {kU32, kU16, kU16, kString, kBlob, row(0x08)},           // 06 MethodDef
    {row(0x08)},                                             // 07 ParamPtr
    {kU16, kU16, kString},                                   // 08 Param
    {row(0x02), kType},                                      // 09 InterfaceImpl
    {coded(EcmaCoded::member_ref_parent), kString, kBlob},   // 0a MemberRef
    {kU16, coded(EcmaCoded::has_constant), kBlob},           // 0b Constant
    {coded(EcmaCoded::has_custom_attribute),                 // 0c CustomAttribute
     coded(EcmaCoded::custom_attribute_type), kBlob},
    {coded(EcmaCoded::has_field_marshal), kBlob},        // 0d FieldMarshal
    {kU16, coded(EcmaCoded::has_decl_security), kBlob},  // 0e DeclSecurity
    {kU16, kU32, row(0x02)},                             // 0f ClassLayout
    {kU32, row(0x04)},                                   // 10 FieldLayout
    {kBlob},                                             // 11 StandAloneSig
    {row(0x02), row(0x14)},                              // 12 EventMap
    {row(0x14)},                                         // 13 EventPtr
    {kU16, kString, kType},                              // 14 Event
    {row(0x02), row(0x17)},                              // 15 PropertyMap
    {row(0x17)},                                         // 16 PropertyPtr
    {kU16, kString, kBlob},                              // 17 Property
    {kU16, row(0x06), coded(EcmaCoded::has_semantics)},  // 18 MethodSemantics
    {row(0x02), coded(EcmaCoded::method_def_or_ref),     // 19 MethodImpl
     coded(EcmaCoded::method_def_or_ref)},
    {kString},                                                         // 1a ModuleRef
    {kBlob},                                                           // 1b TypeSpec
    {kU16, coded(EcmaCoded::member_forwarded), kString, row(0x1a)},    // 1c ImplMap
    {kU32, row(0x04)},                                                 // 1d FieldRVA
    {kU32, kU32},                                                      // 1e EncLog
    {kU32},                                                            // 1f EncMap
    {kU32, kU16, kU16, kU16, kU16, kU32, kBlob, kString, kString},     // 20 Assembly
    {kU32},                                                            // 21 AssemblyProcessor
    {kU32, kU32, kU32},                                                // 22 AssemblyOS
    {kU16, kU16, kU16, kU16, kU32, kBlob, kString, kString, kBlob},    // 23 AssemblyRef
    {kU32, row(0x23)},                                                 // 24 AssemblyRefProcessor
    {kU32, kU32, kU32, row(0x23)},                                     // 25 AssemblyRefOS
    {kU32, kString, kBlob},                                            // 26 File
    {kU32, kU32, kString, kString, coded(EcmaCoded::implementation)},  // 27 ExportedType
    {kU32, kU32, kString, coded(EcmaCoded::implementation)},           // 28 ManifestResource
    {row(0x02), row(0x02)},                                            // 29 NestedClass
    {kU16, kU16, coded(EcmaCoded::type_or_method_def), kString},       // 2a GenericParam
    {coded(EcmaCoded::method_def_or_ref), kBlob},                      // 2b MethodSpec
    {row(0x2a), kType},                                                // 2c GenericParamConstraint
}};

constexpr uint8_t kUnused = 0xff;
constexpr std::array<uint8_t, 3> kTypeDefOrRef = {0x02, 0x01, 0x1b};
constexpr std::array<uint8_t, 3> kHasConstant = {0x04, 0x08, 0x17};
constexpr std::array<uint8_t, 22> kHasCustomAttribute = {
    0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14,
    0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b};
constexpr std::array<uint8_t, 2> kHasFieldMarshal = {0x04, 0x08};
constexpr std::array<uint8_t, 3> kHasDeclSecurity = {0x02, 0x06, 0x20};
constexpr std::array<uint8_t, 5> kMemberRefParent = {0x02, 0x01, 0x1a, 0x06, 0x1b};
constexpr std::array<uint8_t, 2> kHasSemantics = {0x14, 0x17};
constexpr std::array<uint8_t, 2> kMethodDefOrRef = {0x06, 0x0a};
constexpr std::array<uint8_t, 2> kMemberForwarded = {0x04, 0x06};
constexpr std::array<uint8_t, 3> kImplementation = {0x26, 0x23, 0x27};
constexpr std::array<uint8_t, 5> kCustomAttributeType = {kUnused, kUnused, 0x06, 0x0a, kUnused};
constexpr std::array<uint8_t, 4> kResolutionScope = {0x00, 0x1a, 0x23, 0x01};
constexpr std::array<uint8_t, 2> kTypeOrMethodDef = {0x02, 0x06};

}  // namespace

const EcmaRow& ecma_row(size_t table) {
  return kRows.at(table);
}

EcmaCoding ecma_coding(EcmaCoded coded) {
  switch (coded) {
    case EcmaCoded::type_def_or_ref:
      return {2, kTypeDefOrRef};
    case EcmaCoded::has_constant:
      return {2, kHasConstant};
    case EcmaCoded::has_custom_attribute:
      return {5, kHasCustomAttribute};
    case EcmaCoded::has_field_marshal:
      return {1, kHasFieldMarshal};
    case EcmaCoded::has_decl_security:
      return {2, kHasDeclSecurity};
    case EcmaCoded::member_ref_parent:
      return {3, kMemberRefParent};
    case EcmaCoded::has_semantics:
      return {1, kHasSemantics};
    case EcmaCoded::method_def_or_ref:
      return {1, kMethodDefOrRef};
    case EcmaCoded::member_forwarded:
      return {1, kMemberForwarded};
    case EcmaCoded::implementation:
      return {2, kImplementation};
    case EcmaCoded::custom_attribute_type:
      return {3, kCustomAttributeType};
    case EcmaCoded::resolution_scope:
      return {2, kResolutionScope};
    case EcmaCoded::type_or_method_def:
      return {1, kTypeOrMethodDef};
  }
  return {};
}

}  // namespace jitscope
