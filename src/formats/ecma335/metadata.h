// CLI metadata (ECMA-335, II.24): the tables that name a .NET assembly's types and methods. Rows
// are decoded when they are asked for; nothing is copied. No system calls.
//
// The bytes are hostile. parse() allocates nothing and looks at each table once: the rows that the
// header announces must be there. Afterwards a row that is not there, or a string or blob that lies
// outside its heap, reads as empty. Every answer takes constant time, or that of a binary search;
// a name is read up to kMostName bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/byte_cursor.h"
#include "base/result.h"
#include "formats/ecma335/tables.h"

namespace jitscope {

struct EcmaToken {
  EcmaTable table = EcmaTable::none;
  uint32_t row = 0;  // from 1; 0: nil

  explicit operator bool() const { return row != 0; }
  bool operator==(const EcmaToken&) const = default;
};

// Of a signature: the type in two bits, the row above them (II.23.2.8).
[[nodiscard]] EcmaToken type_def_or_ref(uint32_t value);

struct EcmaTypeName {
  std::string_view space;  // empty: none, as of all nested types
  std::string_view name;   // with "`2" when generic
};

struct EcmaMember {
  std::string_view name;
  std::span<const std::byte> signature;
  EcmaToken owner;  // of a MemberRef: TypeDef, TypeRef, TypeSpec, ModuleRef or MethodDef
};

class EcmaMetadata {
 public:
  static constexpr size_t kMostName = 16U << 10U;
  using Mvid = std::array<std::byte, 16>;

  // `root`: what the CLI header's metadata directory spans. damaged, or not_possible for metadata
  // of edit-and-continue ("#-"), which no compiler leaves in a file.
  static Result<EcmaMetadata> parse(std::span<const std::byte> root);

  [[nodiscard]] uint32_t rows(EcmaTable table) const;
  [[nodiscard]] bool has(EcmaToken token) const;

  // Of a TypeDef or TypeRef.
  [[nodiscard]] EcmaTypeName type_name(EcmaToken type) const;
  // What a type lies in. TypeDef: the type around it, or nil. TypeRef: that, or an AssemblyRef,
  // ModuleRef or the Module itself. A hostile file can make circles of these.
  [[nodiscard]] EcmaToken scope(EcmaToken type) const;

  [[nodiscard]] EcmaMember method(uint32_t row) const;
  [[nodiscard]] EcmaMember member_ref(uint32_t row) const;
  [[nodiscard]] std::span<const std::byte> type_spec(uint32_t row) const;
  // The name of type parameter `index` of a TypeDef or MethodDef; empty: it has none such.
  [[nodiscard]] std::string_view type_parameter(EcmaToken owner, uint32_t index) const;

  // Of an Assembly, AssemblyRef or ModuleRef. "System.Runtime"
  [[nodiscard]] std::string_view name(EcmaToken token) const;
  [[nodiscard]] std::string_view assembly_name() const { return name({EcmaTable::assembly, 1}); }
  [[nodiscard]] std::optional<Mvid> mvid() const;

 private:
  struct Column {
    uint8_t offset = 0;
    uint8_t width = 0;
  };
  struct Table {
    std::span<const std::byte> bytes;
    uint32_t rows = 0;
    uint8_t row_size = 0;
    std::array<Column, kMostEcmaColumns> columns{};
  };

  Status read_streams(std::span<const std::byte> root, std::span<const std::byte>& tables);
  Status read_tables(std::span<const std::byte> stream);
  [[nodiscard]] uint8_t width(EcmaField field, uint8_t heap_sizes) const;
  [[nodiscard]] const Table& table(EcmaTable which) const {
    return tables_[static_cast<size_t>(which)];
  }
  // 0 for a row that is not there.
  [[nodiscard]] uint32_t cell(EcmaTable which, uint32_t row, size_t column) const;
  [[nodiscard]] EcmaToken coded(EcmaTable which, uint32_t row, size_t column) const;
  [[nodiscard]] std::string_view string(EcmaTable which, uint32_t row, size_t column) const;
  [[nodiscard]] std::span<const std::byte> blob(EcmaTable which, uint32_t row, size_t column) const;
  // The first row whose column is not below `value`; rows + 1 when there is none. For tables that
  // are sorted by the column.
  [[nodiscard]] uint32_t first_not_below(EcmaTable which, size_t column, uint32_t value) const;

  std::array<Table, kEcmaTables> tables_{};
  std::span<const std::byte> strings_;
  std::span<const std::byte> guids_;
  std::span<const std::byte> blobs_;
};

}  // namespace jitscope
