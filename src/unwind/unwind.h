// UnwindTable: call frame information of one body (DWARF 5, section 6.4), as it goes into .eh_frame
// or into a jitdump's UNWINDING_INFO. Position independent: instructions that advance by
// differences only.
//
// Made from HotSpot's frame sizes and the body's own instructions (decoded with Zydis: every push,
// pop and change of rsp moves the CFA, after a return the frame is whole again), or taken out of a
// dump's UNWINDING_INFO. No system calls. x86-64 (unwind_x86_64.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "code/frame_shape.h"

namespace jitscope {

struct UnwindTable {
  uint64_t code_alignment = 1;
  int64_t data_alignment = -8;
  uint32_t return_register = 16;
  std::vector<std::byte> initial;       // the CIE's instructions
  std::vector<std::byte> instructions;  // the FDE's
  uint64_t offset = 0;                  // of the code it covers, from the start of the body
  uint64_t size = 0;
  bool operator==(const UnwindTable&) const = default;
};

// One or more tables that cover the body (stubs hold several routines); empty: nothing can be said
// with certainty. `code` is the whole body, `entry` the offset of its (verified) entry.
//  - fixed: CFA from rsp, followed through prologue and epilogues; rbp is saved where it is pushed.
//  - interpreter: CFA is the value at rbp-8 (sender sp), return address at rbp+8, rbp at rbp.
//  - unknown: by its instructions alone, for routines that begin with `push rbp; mov rbp, rsp`
//    or never touch rsp.
[[nodiscard]] std::vector<UnwindTable> unwind_of_code(std::span<const std::byte> code,
                                                      const FrameInfo& frame, uint64_t entry = 0);

// jitdump UNWINDING_INFO: .eh_frame, then .eh_frame_hdr, as perf's jitdump reader takes them for
// code of `code_size` bytes with the tables mapped behind it (see the contract of
// tools/perf/util/genelf.c: jit_add_eh_frame_info).
struct UnwindingInfo {
  std::string bytes;
  uint64_t header_size = 0;  // of .eh_frame_hdr
  uint64_t mapped_size = 0;  // a multiple of 8
};
[[nodiscard]] UnwindingInfo encode_unwinding_info(std::span<const UnwindTable> tables,
                                                  uint64_t code_size);
// The way back, for hostile bytes; FDEs that do not lie in the body are left out. Errors: damaged.
Result<std::vector<UnwindTable>> parse_unwinding_info(std::span<const std::byte> info,
                                                      uint64_t header_size, uint64_t code_size);

// .eh_frame and .eh_frame_hdr of an image: places are virtual addresses in it.
struct PlacedUnwind {
  uint64_t place = 0;  // of the body
  const UnwindTable* table = nullptr;
};
struct EhFrame {
  std::string frame;   // .eh_frame, ends with a zero terminator
  std::string header;  // .eh_frame_hdr with its search table (sdata4, sorted)
};
// Bytes that eh_frame() will give, without knowing where they will lie.
[[nodiscard]] uint64_t eh_frame_size(std::span<const PlacedUnwind> bodies);
// The header lies at `header_address`, .eh_frame right behind it, 8-aligned. Fails with
// not_possible when a body is more than 2 GB away.
Result<EhFrame> eh_frame(std::span<const PlacedUnwind> bodies, uint64_t header_address);

}  // namespace jitscope
