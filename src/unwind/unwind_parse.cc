// A jitdump's UNWINDING_INFO as tables again; see unwind.h. For hostile bytes: all fields go
// through ByteCursor, and what a CIE costs for each of its FDEs is bounded.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/byte_cursor.h"
#include "base/leb128.h"
#include "unwind/cfa_program.h"
#include "unwind/unwind.h"

namespace jitscope {
namespace {

// Real ones take some bytes. Every table holds a copy.
constexpr size_t kLongestInitial = 1024;
constexpr size_t kMostTables = 1U << 16U;
constexpr uint8_t kOmitted = 0xff;
constexpr uint8_t kIndirect = 0x80;

struct ParsedCie {
  UnwindTable table;  // what FDEs of it share
  uint8_t encoding = 0;
  bool augmented = false;
};

// A pointer in one of the encodings of DW_EH_PE_*. Only what is relative to its own place is known
// without knowing where the code lay.
class Pointers {
 public:
  Pointers(uint8_t encoding, uint64_t base) : encoding_(encoding), base_(base) {}

  // From the start of the body.
  std::optional<uint64_t> place(ByteCursor& bytes) const {
    const uint64_t own = base_ + bytes.offset();
    const auto value = number(bytes);
    constexpr uint8_t relative_to_place = 0x10;
    if (!value || (encoding_ & 0x70U) != relative_to_place || (encoding_ & kIndirect) != 0) {
      return std::nullopt;
    }
    return own + *value;
  }
  // A number of the same size, which is never negative.
  std::optional<uint64_t> size(ByteCursor& bytes) const {
    return Pointers(encoding_ & 0x07U, 0).number(bytes);
  }

 private:
  std::optional<uint64_t> number(ByteCursor& bytes) const {
    uint64_t value = 0;
    switch (encoding_ & 0x0fU) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = bytes.u64();
        break;
      case 0x01:
        value = read_uleb128(bytes);
        break;
      case 0x02:
        value = bytes.u16();
        break;
      case 0x03:
        value = bytes.u32();
        break;
      case 0x09:
        value = static_cast<uint64_t>(read_sleb128(bytes));
        break;
      case 0x0a:
        value = static_cast<uint64_t>(int64_t{bytes.i16()});
        break;
      case 0x0b:
        value = static_cast<uint64_t>(int64_t{bytes.i32()});
        break;
      default:
        return std::nullopt;
    }
    if (!bytes.ok()) return std::nullopt;
    return value;
  }

  uint8_t encoding_;
  uint64_t base_;
};

// Whether these are whole instructions that hold wherever the code lies.
bool sound(std::span<const std::byte> program) {
  ByteCursor bytes(program);
  while (bytes.ok() && !bytes.at_end()) {
    const uint8_t opcode = bytes.u8();
    if ((opcode & 0xc0U) == kCfaOffset) {
      (void)read_uleb128(bytes);
      continue;
    }
    if ((opcode & 0xc0U) != 0) continue;  // advance, restore
    switch (opcode) {
      case kCfaNop:
      case kCfaRememberState:
      case kCfaRestoreState:
      case kCfaGnuWindowSave:
        break;
      case kCfaAdvance1:
        bytes.skip(1);
        break;
      case kCfaAdvance2:
        bytes.skip(2);
        break;
      case kCfaAdvance4:
        bytes.skip(4);
        break;
      case kCfaMipsAdvance8:
        bytes.skip(8);
        break;
      case kCfaRestoreExtended:
      case kCfaUndefined:
      case kCfaSameValue:
      case kCfaDefCfaRegister:
      case kCfaDefCfaOffset:
      case kCfaDefCfaOffsetSf:
      case kCfaGnuArgsSize:
        (void)read_uleb128(bytes);
        break;
      case kCfaOffsetExtended:
      case kCfaRegister:
      case kCfaDefCfa:
      case kCfaOffsetExtendedSf:
      case kCfaDefCfaSf:
      case kCfaValOffset:
      case kCfaValOffsetSf:
      case kCfaGnuNegativeOffset:
        (void)read_uleb128(bytes);
        (void)read_uleb128(bytes);  // or signed: as long
        break;
      case kCfaDefCfaExpression:
        bytes.skip(read_uleb128(bytes));
        break;
      case kCfaExpression:
      case kCfaValExpression:
        (void)read_uleb128(bytes);
        bytes.skip(read_uleb128(bytes));
        break;
      default:
        return false;  // DW_CFA_set_loc, which names an address, and what nobody knows
    }
  }
  return bytes.ok();
}

std::optional<ParsedCie> read_cie(ByteCursor bytes) {
  ParsedCie cie;
  const uint8_t version = bytes.u8();
  if (version != 1 && version != 3 && version != 4) return std::nullopt;
  std::string_view augmentation = bytes.c_string();
  if (version == 4 && (bytes.u8() != 8 || bytes.u8() != 0)) return std::nullopt;
  cie.table.code_alignment = read_uleb128(bytes);
  cie.table.data_alignment = read_sleb128(bytes);
  const uint64_t number = version == 1 ? bytes.u8() : read_uleb128(bytes);
  if (!bytes.ok() || number > UINT8_MAX) return std::nullopt;
  cie.table.return_register = static_cast<uint32_t>(number);
  cie.augmented = augmentation.starts_with('z');
  if (cie.augmented) {
    ByteCursor data = bytes.slice(read_uleb128(bytes));
    for (const char c : augmentation.substr(1)) {
      if (c == 'R') {
        cie.encoding = data.u8();
      } else if (c == 'L') {
        data.u8();
      } else if (c != 'S' && c != 'B') {
        break;  // a personality, and what nobody knows: its length is not told
      }
    }
    if (!data.ok()) return std::nullopt;
  } else if (!augmentation.empty()) {
    return std::nullopt;
  }
  const auto initial = bytes.rest();
  if (!bytes.ok() || initial.size() > kLongestInitial || !sound(initial)) return std::nullopt;
  cie.table.initial.assign(initial.begin(), initial.end());
  return cie;
}

}  // namespace

Result<std::vector<UnwindTable>> parse_unwinding_info(std::span<const std::byte> info,
                                                      uint64_t header_size, uint64_t code_size) {
  if (header_size > info.size()) {
    return fail(ErrorKind::damaged, "unwinding information that is smaller than its header");
  }
  if (code_size > INT64_MAX) return fail(ErrorKind::damaged, "code of an impossible size");
  const uint64_t frame_address = (code_size + 7) / 8 * 8;
  std::vector<UnwindTable> tables;
  std::map<uint64_t, std::optional<ParsedCie>> cies;  // by their place
  ByteCursor bytes(info.first(info.size() - static_cast<size_t>(header_size)));
  const auto damaged = [&](std::string_view what) {
    return fail(ErrorKind::damaged,
                fmt::format("unwinding information {} at offset {:#x}", what, bytes.offset()));
  };
  while (!bytes.at_end()) {
    const uint64_t start = bytes.offset();
    const uint32_t length = bytes.u32();
    if (!bytes.ok()) return damaged("that ends inside a record");
    if (length == 0) break;
    if (length == UINT32_MAX) return damaged("with a 64-bit record");
    ByteCursor record = bytes.slice(length);
    const uint64_t back = record.u32();
    if (!bytes.ok() || !record.ok()) return damaged("that ends inside a record");
    const uint64_t place = start + sizeof(uint32_t);  // of the record's content
    if (back == 0) {
      if (cies.size() >= kMostTables) return damaged("with too many records");
      cies.emplace(start, read_cie(record));
      continue;
    }
    if (back > place) return damaged("with a record that belongs to none");
    const auto known = cies.find(place - back);
    if (known == cies.end()) return damaged("with a record that belongs to none");
    const std::optional<ParsedCie>& cie = known->second;
    if (!cie || cie->encoding == kOmitted) continue;
    // The cursor of a slice counts from the slice's start.
    const Pointers pointers(cie->encoding, frame_address + place);
    const auto begin = pointers.place(record);
    const auto size = pointers.size(record);
    if (cie->augmented) record.skip(read_uleb128(record));
    const auto program = record.rest();
    if (!record.ok() || !begin || !size || *size == 0 || *begin > code_size ||
        *size > code_size - *begin || !sound(program)) {
      continue;
    }
    if (tables.size() >= kMostTables) return damaged("with too many records");
    UnwindTable table = cie->table;
    table.offset = *begin;
    table.size = *size;
    table.instructions.assign(program.begin(), program.end());
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace jitscope
