#include "image/dwarf_lines.h"

#include <dwarf.h>

#include <string>

namespace jitscope {
namespace {

// A special opcode is one byte that moves both address and line and appends a row.
constexpr int64_t kLineBase = -5;
constexpr uint64_t kLineRange = 14;
constexpr uint64_t kOpcodeBase = 13;
constexpr uint64_t kMostSpecial = (255 - kOpcodeBase) / kLineRange;  // of the address
static_assert(kOpcodeBase + kMostSpecial * kLineRange <= 255);

}  // namespace

uint32_t LineSection::file(std::string_view name) {
  const uint32_t text = names_.add(name);
  uint32_t& number = numbers_(text, 0);
  if (number == PairTable::kNone) {
    files_.push_back({text, static_cast<uint32_t>(name.size())});
    number = static_cast<uint32_t>(files_.size());
  }
  return number;
}

void LineSection::row(uint64_t address, uint32_t file, uint32_t line) {
  if (file != file_) {
    program_.u8(DW_LNS_set_file);
    program_.uleb(file);
    file_ = file;
  }
  int64_t lines = int64_t{line} - int64_t{line_};
  uint64_t forward = address - address_;
  if (lines < kLineBase || lines >= kLineBase + static_cast<int64_t>(kLineRange)) {
    program_.u8(DW_LNS_advance_line);
    program_.sleb(lines);
    lines = 0;
  }
  const auto opcode = [&](uint64_t advance) {
    return static_cast<uint64_t>(lines - kLineBase) + kLineRange * advance + kOpcodeBase;
  };
  if (forward > kMostSpecial || opcode(forward) > 255) {
    // DW_LNS_const_add_pc moves as opcode 255 does, in one byte.
    if (forward >= kMostSpecial && forward < 2 * kMostSpecial) {
      program_.u8(DW_LNS_const_add_pc);
      forward -= kMostSpecial;
    } else {
      program_.u8(DW_LNS_advance_pc);
      program_.uleb(forward);
      forward = 0;
    }
  }
  program_.u8(opcode(forward));
  address_ = address;
  line_ = line;
}

void LineSection::add(uint64_t begin, uint64_t end, uint32_t file, uint32_t line) {
  if (open_ && begin == end_ && file == file_ && line == line_) {
    end_ = end;
    return;
  }
  if (open_ && begin != end_) end_sequence();
  if (!open_) {
    program_.u8(0);
    program_.uleb(9);
    program_.u8(DW_LNE_set_address);
    program_.u64(begin);
    open_ = true;
    address_ = begin;
    // The register begins with 1, which binutils 2.40 takes for the unit's own file, number 0: so
    // it is always set.
    file_ = UINT32_MAX;
    line_ = 1;
  }
  row(begin, file, line);
  end_ = end;
}

void LineSection::end_sequence() {
  if (!open_) return;
  program_.u8(DW_LNS_advance_pc);
  program_.uleb(end_ - address_);
  program_.u8(0);
  program_.uleb(1);
  program_.u8(DW_LNE_end_sequence);
  open_ = false;
}

void LineSection::header(std::string_view folder, std::string_view unit) {
  ByteWriter& out = tables_;
  out.u8(1);  // bytes of the shortest instruction
  out.u8(1);  // operations in one, at most
  out.u8(1);  // rows are statements
  out.u8(static_cast<uint64_t>(kLineBase));
  out.u8(kLineRange);
  out.u8(kOpcodeBase);
  for (const unsigned operands : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}) out.u8(operands);
  if (version_ >= 5) {
    const uint32_t folder_at = names_.add(folder);
    const uint32_t unit_at = names_.add(unit);
    out.u8(1);
    out.uleb(DW_LNCT_path);
    out.uleb(DW_FORM_line_strp);
    out.uleb(1);
    out.u32(folder_at);
    out.u8(2);
    out.uleb(DW_LNCT_path);
    out.uleb(DW_FORM_line_strp);
    out.uleb(DW_LNCT_directory_index);
    out.uleb(DW_FORM_udata);
    out.uleb(files_.size() + 1);
    out.u32(unit_at);
    out.uleb(0);
    for (const File& file : files_) {
      out.u32(file.name);
      out.uleb(0);
    }
    return;
  }
  out.u8(0);  // no folders but the unit's
  const auto names = names_.bytes();
  for (const File& file : files_) {
    out.raw(names.subspan(file.name, file.length + size_t{1}));
    out.uleb(0);  // folder
    out.uleb(0);  // time
    out.uleb(0);  // length
  }
  out.u8(0);
}

uint64_t LineSection::end_unit(std::string_view folder, std::string_view unit) {
  end_sequence();
  ByteWriter& out = tables_;
  const size_t begin = out.size();
  out.u32(0);
  out.u16(version_);
  if (version_ >= 5) {
    out.u8(8);  // bytes of an address
    out.u8(0);  // of a segment
  }
  const size_t length_at = out.size();
  out.u32(0);
  header(folder, unit);
  out.patch_u32(length_at, out.size() - length_at - 4);
  // binutils 2.40 calls a table without a program corrupt: an instruction that makes no row.
  if (program_.empty()) program_.u8(DW_LNS_set_prologue_end);
  out.raw(program_.bytes());
  out.patch_u32(begin, out.size() - begin - 4);
  program_.clear();
  files_.clear();
  numbers_ = {};
  return begin;
}

}  // namespace jitscope
