// UNWIND_INFO of x86-64 images: what a function's prolog has done to the stack. Format: "x64
// exception handling" of Microsoft's C++ documentation; version 2: LLVM's Win64EH.h; what .NET adds
// on Linux (a large frame offset): dotnet/runtime, UWOP_SET_FPREG_LARGE. No system calls. Only
// decoding: who walks a stack does it.
//
// Bounds: at most 255 steps of one record and 32 records of a chain.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "formats/pe/pe_image.h"

namespace jitscope {

// A row of the exception directory.
struct PeFunctionRow {
  static constexpr uint32_t kSize = 12;
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t unwind = 0;

  bool operator==(const PeFunctionRow&) const = default;
};

// Registers are numbered as instructions do: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
struct UnwindStep {
  enum class Kind : uint8_t {
    push,           // of `reg`
    alloc,          // `value` bytes
    set_frame,      // reg = rsp + value
    save,           // of `reg` to rsp + value, rsp as it is after the prolog
    save_xmm,       // of xmm`reg`, the same
    machine_frame,  // what the processor pushes; value 1: with an error code
  };
  Kind kind = Kind::push;
  uint8_t done_at = 0;  // offset in the function of the instruction behind the one that did it
  uint8_t reg = 0;
  uint32_t value = 0;

  bool operator==(const UnwindStep&) const = default;
};

struct UnwindInfo {
  uint8_t version = 0;
  uint8_t flags = 0;
  uint8_t prolog_size = 0;
  uint8_t frame_register = 0;            // 0: none
  uint32_t frame_offset = 0;             // bytes
  std::vector<UnwindStep> steps;         // the last one that was done first
  std::optional<PeFunctionRow> chained;  // what this one continues

  // An odd address is another row's (chained_row() follows it), and refused.
  static Result<UnwindInfo> parse(const PeImage& image, uint32_t rva);
};

// Where `row` continues another function, that one; nothing for a primary row, and for a damaged
// one.
[[nodiscard]] std::optional<PeFunctionRow> chained_row(const PeImage& image,
                                                       const PeFunctionRow& row);
// The row of the function that `row` is a part of, maybe itself.
[[nodiscard]] PeFunctionRow primary_row(const PeImage& image, const PeFunctionRow& row);

// What is to be undone, in this order, at an instruction of the row (row.begin <= rva < row.end):
// the steps done before it, and all those of the rows that it continues. Epilogs are not looked at.
Result<std::vector<UnwindStep>> unwind_steps(const PeImage& image, const PeFunctionRow& row,
                                             uint32_t rva);

}  // namespace jitscope
