// The tables of CLI metadata and the columns of their rows (ECMA-335, II.22 and II.24.2.6).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace jitscope {

// Those that jitscope reads by name; of the others only the sizes of their rows matter.
enum class EcmaTable : uint8_t {
  module = 0x00,
  type_ref = 0x01,
  type_def = 0x02,
  field = 0x04,
  method_def = 0x06,
  member_ref = 0x0a,
  module_ref = 0x1a,
  type_spec = 0x1b,
  assembly = 0x20,
  assembly_ref = 0x23,
  nested_class = 0x29,
  generic_param = 0x2a,
  none = 0xff,
};

constexpr size_t kEcmaTables = 0x2d;  // 0x00 to 0x2c
constexpr size_t kMostEcmaColumns = 9;

// How wide a column is depends on the heaps and on the tables that it can point into.
enum class EcmaColumn : uint8_t { none, u16, u32, string, guid, blob, row, coded };
enum class EcmaCoded : uint8_t {
  type_def_or_ref,
  has_constant,
  has_custom_attribute,
  has_field_marshal,
  has_decl_security,
  member_ref_parent,
  has_semantics,
  method_def_or_ref,
  member_forwarded,
  implementation,
  custom_attribute_type,
  resolution_scope,
  type_or_method_def,
};

struct EcmaField {
  EcmaColumn column = EcmaColumn::none;
  uint8_t target = 0;  // row: the table; coded: EcmaCoded
};
using EcmaRow = std::array<EcmaField, kMostEcmaColumns>;

// The columns of a table, up to the first `none`.
[[nodiscard]] const EcmaRow& ecma_row(size_t table);

// A coded index: the lowest `bits` say which of `tables` the rest points into. 0xff: unused.
struct EcmaCoding {
  uint8_t bits = 0;
  std::span<const uint8_t> tables;
};
[[nodiscard]] EcmaCoding ecma_coding(EcmaCoded coded);

}  // namespace jitscope
