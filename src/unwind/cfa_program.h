// CfaProgram: call frame instructions (DWARF 5, section 6.4.2) appended one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/leb128.h"

namespace jitscope {

// The instructions that are used here, and those that a reader must know to step over them.
enum : uint8_t {
  kCfaNop = 0x00,
  kCfaSetLoc = 0x01,
  kCfaAdvance1 = 0x02,
  kCfaAdvance2 = 0x03,
  kCfaAdvance4 = 0x04,
  kCfaOffsetExtended = 0x05,
  kCfaRestoreExtended = 0x06,
  kCfaUndefined = 0x07,
  kCfaSameValue = 0x08,
  kCfaRegister = 0x09,
  kCfaRememberState = 0x0a,
  kCfaRestoreState = 0x0b,
  kCfaDefCfa = 0x0c,
  kCfaDefCfaRegister = 0x0d,
  kCfaDefCfaOffset = 0x0e,
  kCfaDefCfaExpression = 0x0f,
  kCfaExpression = 0x10,
  kCfaOffsetExtendedSf = 0x11,
  kCfaDefCfaSf = 0x12,
  kCfaDefCfaOffsetSf = 0x13,
  kCfaValOffset = 0x14,
  kCfaValOffsetSf = 0x15,
  kCfaValExpression = 0x16,
  kCfaMipsAdvance8 = 0x1d,
  kCfaGnuWindowSave = 0x2d,
  kCfaGnuArgsSize = 0x2e,
  kCfaGnuNegativeOffset = 0x2f,
  // With an operand in the low six bits.
  kCfaAdvance = 0x40,
  kCfaOffset = 0x80,
  kCfaRestore = 0xc0,
};

class CfaProgram {
 public:
  // From here on the code `bytes` further.
  void advance(uint64_t bytes) {
    while (bytes > UINT32_MAX) {
      fixed(kCfaAdvance4, UINT32_MAX, 4);
      bytes -= UINT32_MAX;
    }
    if (bytes == 0) return;
    if (bytes < 0x40) {
      put(kCfaAdvance | static_cast<unsigned>(bytes));
    } else if (bytes <= UINT8_MAX) {
      fixed(kCfaAdvance1, bytes, 1);
    } else if (bytes <= UINT16_MAX) {
      fixed(kCfaAdvance2, bytes, 2);
    } else {
      fixed(kCfaAdvance4, bytes, 4);
    }
  }
  void cfa(uint8_t number, uint64_t offset) {
    put(kCfaDefCfa);
    put(number);
    put_uleb128(out_, offset);
  }
  void cfa_signed(uint8_t number, int64_t offset, int64_t data_alignment) {
    put(kCfaDefCfaSf);
    put(number);
    put_sleb128(out_, offset / data_alignment);
  }
  void cfa_offset(uint64_t offset) {
    put(kCfaDefCfaOffset);
    put_uleb128(out_, offset);
  }
  void cfa_register(uint8_t number) {
    put(kCfaDefCfaRegister);
    put(number);
  }
  // The register lies `factored` times the data alignment behind the CFA.
  void saved(uint8_t number, uint64_t factored) {
    put(kCfaOffset | number);
    put_uleb128(out_, factored);
  }
  void restored(uint8_t number) { put(kCfaRestore | number); }
  void undefined(uint8_t number) {
    put(kCfaUndefined);
    put(number);
  }
  // The CFA is the value that an expression gives; a register lies where it says.
  void cfa_expression(const std::string& expression) {
    put(kCfaDefCfaExpression);
    block(expression);
  }
  void place_expression(uint8_t number, const std::string& expression) {
    put(kCfaExpression);
    put(number);
    block(expression);
  }

  [[nodiscard]] bool empty() const { return out_.empty(); }
  [[nodiscard]] std::vector<std::byte> take() const {
    std::vector<std::byte> bytes;
    bytes.reserve(out_.size());
    for (const char c : out_) bytes.push_back(static_cast<std::byte>(c));
    return bytes;
  }

 private:
  void put(unsigned byte) { out_.push_back(static_cast<char>(byte)); }
  void fixed(uint8_t opcode, uint64_t value, unsigned bytes) {
    put(opcode);
    for (unsigned i = 0; i < bytes; ++i) put(static_cast<unsigned>(value >> (8 * i)) & 0xffU);
  }
  void block(const std::string& bytes) {
    put_uleb128(out_, bytes.size());
    out_ += bytes;
  }

  std::string out_;
};

}  // namespace jitscope
