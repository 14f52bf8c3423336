// LineSection: .debug_line, DWARF 4 or 5 (section 6.2 of either): which line of which file each
// stretch of code comes from. One table for each unit, one behind the other; rows are encoded as
// they come.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/pair_table.h"
#include "image/byte_writer.h"
#include "image/dwarf_strings.h"

namespace jitscope {

class LineSection {
 public:
  explicit LineSection(unsigned version) : version_(version) {}

  // The number of a file, from 1; as DW_AT_decl_file and DW_AT_call_file want it too.
  uint32_t file(std::string_view name);

  // Code in [begin, end) comes from `line` of `file`. Within one sequence the stretches ascend;
  // where nothing is said of the code behind the last one, the table says so.
  void add(uint64_t begin, uint64_t end, uint32_t file, uint32_t line);
  // The next stretch belongs to other code, which may lie anywhere.
  void end_sequence();

  // The table of the unit is done: its offset in .debug_line. Relative files lie in `folder`;
  // `unit` is the name of the unit. The next one has files and rows of its own.
  uint64_t end_unit(std::string_view folder, std::string_view unit);

  [[nodiscard]] std::span<const std::byte> lines() const { return tables_.bytes(); }
  // .debug_line_str; not used with DWARF 4.
  [[nodiscard]] std::span<const std::byte> strings() const { return names_.bytes(); }
  [[nodiscard]] bool too_large() const {
    return names_.too_large() || tables_.size() + program_.size() > kMost;
  }

 private:
  static constexpr uint64_t kMost = 0xf000'0000;  // leaves room for the header

  void header(std::string_view folder, std::string_view unit);
  void row(uint64_t address, uint32_t file, uint32_t line);

  unsigned version_;
  StringSection names_;
  ByteWriter tables_;  // of the units before

  // Of this unit.
  struct File {
    uint32_t name = 0;  // in names_
    uint32_t length = 0;
  };
  std::vector<File> files_;
  PairTable numbers_;  // of files, by name
  ByteWriter program_;

  // The registers of the reader's state machine.
  bool open_ = false;
  uint64_t address_ = 0;
  uint64_t end_ = 0;  // of the last stretch
  uint32_t file_ = 1;
  uint32_t line_ = 1;
};

}  // namespace jitscope
