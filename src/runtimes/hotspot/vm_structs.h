// VmStructs: the tables in which HotSpot describes its own layout to debuggers.
//
// libjvm exports gHotSpotVMStructs, gHotSpotVMTypes, gHotSpotVMIntConstants and
// gHotSpotVMLongConstants together with the layout of their entries (hotspot/share/runtime/
// vmStructs.hpp; the serviceability agent reads the same). They are read out of the target's
// memory, so every JVM tells its own offsets: callers ask which fields exist and never which
// version it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "process/memory_reader.h"

namespace jitscope::hotspot {

// Address in the target of an exported symbol, or nothing.
using SymbolLookup = std::function<std::optional<uint64_t>(std::string_view)>;

struct VmField {
  std::string type;      // as C++ spells it: "int", "volatile signed char", "Method*"
  uint64_t offset = 0;   // of a member in its struct
  uint64_t address = 0;  // of a static member
  bool is_static = false;
};

// Where a number lies in a struct and how it is stored.
struct FieldRef {
  uint32_t offset = 0;
  uint8_t width = 0;  // 1, 2, 4 or 8 bytes
  bool is_signed = false;
  [[nodiscard]] uint32_t end() const { return offset + width; }
};

class VmStructs {
 public:
  // Errors: not_possible when a symbol is missing, damaged when the tables make no sense.
  static Result<VmStructs> read(MemoryReader& memory, const SymbolLookup& symbol);

  [[nodiscard]] const VmField* find(std::string_view type, std::string_view field) const;
  // The member `field` of the first of `types` that has one of the given names (a field moves
  // between base classes from one JVM to the next, and some were renamed).
  Result<FieldRef> member(std::initializer_list<std::string_view> types,
                          std::initializer_list<std::string_view> fields) const;
  // The same, but nothing instead of an error when no such member exists.
  [[nodiscard]] std::optional<FieldRef> member_if(
      std::initializer_list<std::string_view> types,
      std::initializer_list<std::string_view> fields) const;
  Result<uint64_t> static_address(std::string_view type, std::string_view field) const;
  Result<uint64_t> type_size(std::string_view type) const;
  [[nodiscard]] bool has_type(std::string_view type) const;
  [[nodiscard]] std::optional<int64_t> int_constant(std::string_view name) const;
  [[nodiscard]] std::optional<uint64_t> long_constant(std::string_view name) const;
  [[nodiscard]] size_t field_count() const { return fields_.size(); }

 private:
  friend class VmStructsParser;
  struct TypeInfo {
    uint64_t size = 0;
    bool is_unsigned = false;
  };
  [[nodiscard]] std::optional<FieldRef> as_reference(const VmField& field) const;

  std::unordered_map<std::string, VmField> fields_;  // "Type::field"
  std::unordered_map<std::string, TypeInfo> types_;
  std::unordered_map<std::string, int64_t> int_constants_;
  std::unordered_map<std::string, uint64_t> long_constants_;
};

// Reads fields out of the bytes of one struct; a field beyond the end makes it fail for good.
class StructView {
 public:
  explicit StructView(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t get(FieldRef field);
  int64_t get_signed(FieldRef field) { return static_cast<int64_t>(get(field)); }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

// One number at an address, e.g. a static pointer.
Result<uint64_t> read_u64(MemoryReader& memory, uint64_t address);

}  // namespace jitscope::hotspot
