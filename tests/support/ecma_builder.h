// CLI metadata made in code: rows of the tables that jitscope reads, strings and blobs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/pe_builder.h"

namespace jitscope::test {

// A compressed integer of a signature.
inline std::string packed(uint32_t value) {
  LittleBytes out;
  if (value < 0x80) return out.u8(value).bytes();
  if (value < 0x4000) return out.u8(0x80 | value >> 8U).u8(value).bytes();
  return out.u8(0xc0 | value >> 24U).u8(value >> 16U).u8(value >> 8U).u8(value).bytes();
}

// Bytes of a signature: "\x15\x12..." has NULs and must not end at them.
inline std::string bytes_of(std::initializer_list<int> values) {
  std::string out;
  for (const int each : values) out += static_cast<char>(each);
  return out;
}

class EcmaBuilder {
 public:
  // TypeDefOrRef as signatures and columns have it.
  static uint32_t def(uint32_t row) { return row << 2U; }
  static uint32_t ref(uint32_t row) { return row << 2U | 1U; }
  static uint32_t spec(uint32_t row) { return row << 2U | 2U; }
  // ResolutionScope
  static uint32_t in_assembly(uint32_t row) { return row << 2U | 2U; }
  static uint32_t in_module_ref(uint32_t row) { return row << 2U | 1U; }
  static uint32_t in_type_ref(uint32_t row) { return row << 2U | 3U; }
  static uint32_t in_module() { return 1U << 2U; }
  // MemberRefParent
  static uint32_t parent_ref(uint32_t row) { return row << 3U | 1U; }
  static uint32_t parent_spec(uint32_t row) { return row << 3U | 4U; }

  bool wide_heaps = false;

  // Each returns the row's number.
  uint32_t module(std::string_view name) {
    return add(0x00, {{'2'}, {'s', text(name)}, {'g', 1}, {'g'}, {'g'}});
  }
  uint32_t type_ref(uint32_t scope, std::string_view space, std::string_view name) {
    return add(0x01, {{'2', scope}, {'s', text(name)}, {'s', text(space)}});
  }
  // Its methods are those that are added after it.
  uint32_t type_def(std::string_view space, std::string_view name) {
    const uint32_t first = static_cast<uint32_t>(rows_[0x06].size()) + 1;
    return add(0x02, {{'4'}, {'s', text(name)}, {'s', text(space)}, {'2'}, {'2', 1}, {'m', first}});
  }
  uint32_t method(std::string_view name, std::string_view signature) {
    return add(0x06, {{'4'}, {'2'}, {'2'}, {'s', text(name)}, {'b', blob(signature)}, {'2', 1}});
  }
  uint32_t member_ref(uint32_t parent, std::string_view name, std::string_view signature) {
    return add(0x0a, {{'2', parent}, {'s', text(name)}, {'b', blob(signature)}});
  }
  uint32_t module_ref(std::string_view name) { return add(0x1a, {{'s', text(name)}}); }
  uint32_t type_spec(std::string_view signature) { return add(0x1b, {{'b', blob(signature)}}); }
  uint32_t assembly(std::string_view name) {
    return add(0x20, {{'4'}, {'2'}, {'2'}, {'2'}, {'2'}, {'4'}, {'b'}, {'s', text(name)}, {'s'}});
  }
  uint32_t assembly_ref(std::string_view name) {
    return add(0x23, {{'2'}, {'2'}, {'2'}, {'2'}, {'4'}, {'b'}, {'s', text(name)}, {'s'}, {'b'}});
  }
  uint32_t nested(uint32_t inner, uint32_t outer) {
    return add(0x29, {{'2', inner}, {'2', outer}});
  }
  uint32_t type_parameter(uint32_t type_def, uint32_t number, std::string_view name) {
    return add(0x2a, {{'2', number}, {'2'}, {'2', type_def << 1U}, {'s', text(name)}});
  }

  [[nodiscard]] std::string tables() const {
    LittleBytes out;
    out.u32(0).u8(2).u8(0).u8(wide_heaps ? 7 : 0).u8(1);
    uint64_t valid = 0;
    for (size_t i = 0; i < rows_.size(); ++i) valid |= uint64_t{!rows_[i].empty()} << i;
    out.u64(valid).u64(0);
    for (const auto& table : rows_) {
      if (!table.empty()) out.u32(table.size());
    }
    for (const auto& table : rows_) {
      for (const std::vector<Cell>& row : table) {
        for (const Cell& cell : row) {
          const bool heap = cell.kind == 's' || cell.kind == 'b' || cell.kind == 'g';
          const bool wide = cell.kind == '4' || (heap && wide_heaps) ||
                            (cell.kind == 'm' && rows_[0x06].size() > 0xffff);
          wide ? out.u32(cell.value) : out.u16(cell.value);
        }
      }
    }
    return out.bytes();
  }

  [[nodiscard]] std::string build() const {
    const std::array<std::pair<std::string, std::string>, 4> streams = {
        {{"#~", tables()},
         {"#Strings", strings_},
         {"#GUID", "0123456789abcdef"},
         {"#Blob", blobs_}}};
    LittleBytes out;
    out.u32(0x424a5342).u16(1).u16(1).u32(0).u32(12).text("v4.0.30319").zeros(2).u16(0).u16(4);
    size_t at = out.size();
    for (const auto& [name, bytes] : streams) at += 8 + name_size(name);
    for (const auto& [name, bytes] : streams) {
      out.u32(at).u32(bytes.size()).text(name).zeros(name_size(name) - name.size());
      at += bytes.size();
    }
    for (const auto& [name, bytes] : streams) out.text(bytes);
    return out.bytes();
  }

 private:
  struct Cell {
    char kind;  // '2', '4': so many bytes; 's', 'b', 'g': of a heap; 'm': a row of MethodDef
    uint32_t value = 0;
  };

  static size_t name_size(const std::string& name) { return (name.size() + 4) / 4 * 4; }
  uint32_t add(size_t table, std::vector<Cell> cells) {
    rows_[table].push_back(std::move(cells));
    return static_cast<uint32_t>(rows_[table].size());
  }
  uint32_t text(std::string_view value) {
    if (value.empty()) return 0;
    const auto at = static_cast<uint32_t>(strings_.size());
    strings_.append(value).push_back('\0');
    return at;
  }
  uint32_t blob(std::string_view value) {
    const auto at = static_cast<uint32_t>(blobs_.size());
    blobs_.append(packed(static_cast<uint32_t>(value.size()))).append(value);
    return at;
  }

  std::array<std::vector<std::vector<Cell>>, 0x2d> rows_;
  std::string strings_ = std::string(1, '\0');
  std::string blobs_ = std::string(1, '\0');
};

}  // namespace jitscope::test
