// See unwind_info.h.
#include "formats/pe/unwind_info.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

constexpr unsigned kLongestChain = 32;
constexpr uint8_t kChained = 0x4;    // UNW_FLAG_CHAININFO
constexpr uint32_t kIndirect = 0x1;  // the unwind data is another row's address
constexpr size_t kCode = 2;          // bytes
constexpr size_t kHeader = 4;

PeFunctionRow read_row(ByteCursor& cursor) {
  PeFunctionRow row;
  row.begin = cursor.u32();
  row.end = cursor.u32();
  row.unwind = cursor.u32();
  return row;
}

// UWOP_*: how many codes each takes (alloc_large: one more with info 1).
enum Operation : uint8_t {
  kPush,
  kAllocLarge,
  kAllocSmall,
  kSetFrame,
  kSave,
  kSaveFar,
  kEpilog,  // version 2, two each; version 1 had a way to save xmm here
  kSpare,
  kSaveXmm,
  kSaveXmmFar,
  kMachineFrame,
  kSetFrameLarge,
};

// Advances by one operation and what belongs to it; nothing for what is no step.
std::optional<UnwindStep> read_step(ByteCursor& codes, const UnwindInfo& info, bool& known) {
  using enum UnwindStep::Kind;
  UnwindStep step;
  step.done_at = codes.u8();
  const uint8_t what = codes.u8();
  const uint8_t more = what >> 4U;
  step.reg = more;
  const auto plain = [&](UnwindStep::Kind kind, uint32_t value) {
    step.kind = kind;
    step.value = value;
    return step;
  };
  switch (what & 0xfU) {
    case kPush:
      return plain(push, 0);
    case kAllocLarge:
      step.reg = 0;
      if (more > 1) break;
      return plain(alloc, more == 0 ? codes.u16() * 8U : codes.u32());
    case kAllocSmall:
      step.reg = 0;
      return plain(alloc, more * 8U + 8U);
    case kSetFrame:
      step.reg = info.frame_register;
      return plain(set_frame, info.frame_offset);
    case kSetFrameLarge:
      step.reg = info.frame_register;
      return plain(set_frame, codes.u32() * 16U);
    case kSave:
      return plain(save, codes.u16() * 8U);
    case kSaveFar:
      return plain(save, codes.u32());
    case kSaveXmm:
      return plain(save_xmm, codes.u16() * 16U);
    case kSaveXmmFar:
      return plain(save_xmm, codes.u32());
    case kMachineFrame:
      step.reg = 0;
      if (more > 1) break;
      return plain(machine_frame, more);
    // The last of an odd number may stand alone.
    case kEpilog:
      codes.skip(std::min(codes.remaining(), kCode));
      return std::nullopt;
    case kSpare:
      codes.skip(2 * kCode);
      return std::nullopt;
    default:
      break;
  }
  known = false;
  return std::nullopt;
}

Error nonsense(uint32_t rva) {
  return Error{ErrorKind::damaged,
               "the unwind information of a PE image makes no sense",
               "address " + std::to_string(rva),
               {},
               0};
}

}  // namespace

Result<UnwindInfo> UnwindInfo::parse(const PeImage& image, uint32_t rva) {
  if ((rva & kIndirect) != 0) return fail(nonsense(rva));
  ByteCursor cursor(image.from(rva));
  UnwindInfo out;
  const uint8_t first = cursor.u8();
  out.version = first & 0x7U;
  out.flags = first >> 3U;
  out.prolog_size = cursor.u8();
  const uint8_t count = cursor.u8();
  const uint8_t frame = cursor.u8();
  out.frame_register = frame & 0xfU;
  out.frame_offset = (frame >> 4U) * 16U;
  ByteCursor codes = cursor.slice(count * kCode);
  if (!cursor.ok()) return fail(cursor.error("the unwind information of a PE image"));
  if (out.version != 1 && out.version != 2) return fail(nonsense(rva));
  out.steps.reserve(count);
  while (!codes.at_end()) {
    bool known = true;
    const auto step = read_step(codes, out, known);
    if (!known || !codes.ok()) return fail(nonsense(rva));
    if (step) out.steps.push_back(*step);
  }
  if ((out.flags & kChained) != 0) {
    if (count % 2 != 0) cursor.skip(kCode);
    out.chained = read_row(cursor);
    if (!cursor.ok()) return fail(cursor.error("the unwind information of a PE image"));
  }
  return out;
}

std::optional<PeFunctionRow> chained_row(const PeImage& image, const PeFunctionRow& row) {
  if ((row.unwind & kIndirect) != 0) {
    ByteCursor other(image.from(row.unwind & ~kIndirect));
    const PeFunctionRow found = read_row(other);
    return other.ok() ? std::optional(found) : std::nullopt;
  }
  ByteCursor cursor(image.from(row.unwind));
  const uint8_t flags = cursor.u8() >> 3U;
  if ((flags & kChained) == 0) return std::nullopt;
  cursor.skip(1);
  const uint64_t count = cursor.u8();
  cursor.seek(kHeader + (count + count % 2) * kCode);
  const PeFunctionRow found = read_row(cursor);
  return cursor.ok() ? std::optional(found) : std::nullopt;
}

PeFunctionRow primary_row(const PeImage& image, const PeFunctionRow& row) {
  PeFunctionRow at = row;
  for (unsigned i = 0; i < kLongestChain; ++i) {
    const auto next = chained_row(image, at);
    if (!next) return at;
    at = *next;
  }
  return row;  // it goes round
}

Result<std::vector<UnwindStep>> unwind_steps(const PeImage& image, const PeFunctionRow& row,
                                             uint32_t rva) {
  std::vector<UnwindStep> out;
  PeFunctionRow at = row;
  for (unsigned i = 0; i < kLongestChain; ++i) {
    std::optional<PeFunctionRow> next;
    if ((at.unwind & kIndirect) != 0) {
      next = chained_row(image, at);
      if (!next) return fail(nonsense(at.unwind));
    } else {
      JITSCOPE_ASSIGN(const UnwindInfo info, UnwindInfo::parse(image, at.unwind));
      for (const UnwindStep& step : info.steps) {
        if (i == 0 && rva - row.begin < step.done_at) continue;
        out.push_back(step);
      }
      next = info.chained;
    }
    if (!next) return out;
    at = *next;
  }
  return fail(nonsense(row.unwind));
}

}  // namespace jitscope
