// Unwind tables of HotSpot's code and of stubs; see unwind.h. Relies on FrameFlow for what the
// instructions do to the stack.
//
// What is known of HotSpot's compiled code (JDK 17 and 25) and used here:
//  - The frame is built by `push rbp; sub rsp, N` behind the stack bang (C1, native wrappers; C2
//    with a bang) or by `sub rsp, N; mov [rsp + N - 8], rbp` (C2 leaves): rbp lies at CFA - 16.
//  - Methods compiled to be entered in a loop (OSR) have a second entry, which builds the frame
//  too.
//  - Code that no branch leads to is entered with the whole frame: exception handlers, the deopt
//    handler, targets of jump tables (the tables lie outside the body).
//  - A jump over the entry of what is not entrant any more (e9, 5 bytes) leaves the end of the
//    7-byte instruction that stood there; activations go on behind it.
#include <algorithm>
#include <optional>

#include "unwind/cfa_program.h"
#include "unwind/frame_flow_x86_64.h"
#include "unwind/leaf_routine_x86_64.h"
#include "unwind/unwind.h"

namespace jitscope {
namespace {

constexpr uint8_t kReturnColumn = 16;
constexpr int64_t kWord = 8;
// State is kept for every byte; no real body comes near.
constexpr size_t kLargestCode = 16U << 20U;

// What a table says at one place. Two states may say the same.
struct Row {
  uint8_t base = kRsp;
  int32_t depth = 8;  // of what `base` points to
  std::array<int32_t, kRegisters> saved = {};
  bool operator==(const Row&) const = default;
};

std::optional<Row> row_of(const FrameState* state) {
  if (state == nullptr) return std::nullopt;
  const auto base = state->base();
  // DW_CFA_def_cfa takes no negative offset; a copy of what rsp was above the CFA is of no use.
  if (!base || state->points[*base] < (*base == kRsp ? kWord : 0)) return std::nullopt;
  return Row{*base, state->points[*base], state->saved};
}

void put_change(CfaProgram& out, const Row& from, const Row& to) {
  const auto offset = static_cast<uint64_t>(to.depth);
  if (from.base != to.base && from.depth != to.depth) {
    out.cfa(to.base, offset);
  } else if (from.base != to.base) {
    out.cfa_register(to.base);
  } else if (from.depth != to.depth) {
    out.cfa_offset(offset);
  }
  for (uint8_t number = 0; number < kRegisters; ++number) {
    const int32_t saved = to.saved[number];
    if (saved == from.saved[number]) continue;
    if (saved == FrameState::kKept) {
      out.restored(number);
    } else if (saved > 0 && saved % kWord == 0) {
      out.saved(number, static_cast<uint64_t>(saved / kWord));
    } else {
      out.undefined(number);
    }
  }
}

std::vector<std::byte> initial_of_calls() {
  CfaProgram out;
  out.cfa(kRsp, 8);
  out.saved(kReturnColumn, 1);
  return out.take();
}

// A table for each stretch of code of which something is known.
std::vector<UnwindTable> tables_of(const FrameFlow& flow) {
  std::vector<UnwindTable> tables;
  const auto initial = initial_of_calls();
  for (uint64_t at = 0; at < flow.size();) {
    if (!row_of(flow.before(at))) {
      ++at;
      continue;
    }
    UnwindTable table;
    table.initial = initial;
    table.offset = at;
    CfaProgram program;
    Row last;
    uint64_t told = at;
    const FrameState* state = nullptr;
    for (; at < flow.size(); ++at) {
      const FrameState* here = flow.before(at);
      if (here == state) continue;
      const auto row = row_of(here);
      if (!row) break;
      state = here;
      if (*row == last) continue;
      program.advance(at - told);
      put_change(program, last, *row);
      told = at;
      last = *row;
    }
    table.size = at - table.offset;
    table.instructions = program.take();
    tables.push_back(std::move(table));
  }
  return tables;
}

uint8_t byte_at(std::span<const std::byte> code, uint64_t offset) {
  return offset < code.size() ? std::to_integer<uint8_t>(code[offset]) : 0;
}

// The body's frame when it is whole. `pointer`: rbp points to where the caller's rbp lies.
FrameState whole_frame(uint32_t bytes, bool pointer) {
  FrameState state = FrameState::at_entry();
  state.points[kRsp] = static_cast<int32_t>(bytes);
  if (bytes >= 16) state.saved[kRbp] = 16;
  if (bytes >= 16 && pointer) state.points[kRbp] = 16;
  return state;
}

// `push rbp; mov rbp, rsp` (both encodings of the mov).
bool sets_up_frame_pointer(std::span<const std::byte> code, uint64_t at) {
  if (byte_at(code, at) != 0x55 || byte_at(code, at + 1) != 0x48) return false;
  return (byte_at(code, at + 2) == 0x8b && byte_at(code, at + 3) == 0xec) ||
         (byte_at(code, at + 2) == 0x89 && byte_at(code, at + 3) == 0xe5);
}

constexpr FlowRules kHotspot = {.all_kept = false, .aligned = true, .patch_sites = true};

class FixedFrame {
 public:
  FixedFrame(std::span<const std::byte> code, const FrameInfo& frame, uint64_t entry)
      : code_(code), bytes_(frame.bytes), entry_(entry), flow_(code, kHotspot) {}

  std::vector<UnwindTable> tables() {
    if (bytes_ == kWord) {  // nothing but the return address: the stack is never touched
      for (uint64_t at = 0; at < flow_.size(); ++at) flow_.set(at, FrameState::at_entry());
      return tables_of(flow_);
    }
    from_entries(FrameState::at_entry());
    // Stubs for safepoints make room for their own return address: they are jumped to.
    if (bytes_ != 0 && !reaches(bytes_) && reaches(bytes_ + kWord)) {
      FrameState jumped_to = FrameState::at_entry();
      jumped_to.points[kRsp] = 0;
      flow_ = FrameFlow(code_, kHotspot);
      from_entries(jumped_to);
    }
    if (bytes_ != 0) the_rest();
    return tables_of(flow_);
  }

 private:
  static constexpr uint64_t kPatch = 5;
  static constexpr uint64_t kPatchedInstruction = 7;

  void from_entries(const FrameState& state) {
    if (patched(entry_)) {
      behind_patch();
    } else {
      flow_.follow(entry_, state);
    }
    if (!patched(0)) flow_.follow(0, state);
  }
  // Whether the frame has this size anywhere.
  [[nodiscard]] bool reaches(int64_t bytes) const {
    for (uint64_t at = 0; at < flow_.size(); ++at) {
      const FrameState* state = flow_.before(at);
      if (state != nullptr && state->points[kRsp] == bytes) return true;
    }
    return false;
  }
  // What no branch from the entries leads to has the whole frame. Some of it is data (C1 keeps the
  // operands of code to be patched there): what it would do to the stack, taken for code, is not
  // believed when it leads nowhere.
  void the_rest() {
    for (uint64_t at = 0; at < flow_.size(); ++at) {
      if (flow_.before(at) == nullptr && is_prologue(at)) flow_.follow(at, FrameState::at_entry());
    }
    const FrameState whole = whole_frame(bytes_, has_pointer());
    std::vector<bool> followed(flow_.size());
    for (uint64_t at = 0; at < flow_.size(); ++at) followed[at] = flow_.before(at) != nullptr;
    for (uint64_t at = 0; at < flow_.size(); ++at) {
      if (followed[at]) continue;
      if (flow_.before(at) == nullptr) flow_.follow(at, whole);
      if (!row_of(flow_.before(at))) flow_.set(at, whole);
    }
  }
  // Where methods compiled to be entered in a loop are entered: the frame is built there, too.
  [[nodiscard]] bool is_prologue(uint64_t at) const {
    constexpr uint64_t bang = 7;  // mov [rsp - n], eax
    const bool has_bang = byte_at(code_, at) == 0x89 && byte_at(code_, at + 1) == 0x84 &&
                          byte_at(code_, at + 2) == 0x24 && byte_at(code_, at + bang - 1) == 0xff;
    if (has_bang) at += bang;
    if (byte_at(code_, at) != 0x55 || byte_at(code_, at + 1) != 0x48 ||
        byte_at(code_, at + 3) != 0xec) {
      return false;
    }
    uint32_t size = byte_at(code_, at + 4);  // sub rsp, imm8 or imm32
    if (byte_at(code_, at + 2) == 0x81) {
      for (unsigned i = 1; i < 4; ++i) size |= uint32_t{byte_at(code_, at + 4 + i)} << (8 * i);
    } else if (byte_at(code_, at + 2) != 0x83) {
      return false;
    }
    return size + uint64_t{16} == bytes_;
  }
  // A jump out of the body lies over what was there.
  [[nodiscard]] bool patched(uint64_t offset) const {
    if (byte_at(code_, offset) != 0xe9 || code_.size() - offset < kPatchedInstruction) return false;
    uint32_t distance = 0;
    for (unsigned i = 0; i < 4; ++i) {
      distance |= uint32_t{byte_at(code_, offset + 1 + i)} << (8 * i);
    }
    const int64_t target = static_cast<int64_t>(offset + kPatch) + static_cast<int32_t>(distance);
    return target < 0 || target >= static_cast<int64_t>(code_.size());
  }
  void behind_patch() {
    FrameState state = FrameState::at_entry();
    flow_.follow(entry_, state);  // the jump itself
    if (behind_short_allocation(state)) return;
    for (uint64_t i = kPatch; i < kPatchedInstruction; ++i) flow_.set(entry_ + i, state);
    // What is left of `sub rsp, imm32` are the high bytes of a small number; of the bang's
    // displacement, those of a negative one.
    const bool sub = byte_at(code_, entry_ + 6) == 0 && byte_at(code_, entry_ + 5) == 0;
    if (sub) state.points[kRsp] = static_cast<int32_t>(bytes_);
    if (!sub || bytes_ != 0) flow_.follow(entry_ + kPatchedInstruction, state);
  }
  // `sub rsp, imm8; mov [rsp + N - 8], rbp` (JVMs that patch no entry themselves) under a probe's
  // jump: the end of the store is left.
  bool behind_short_allocation(FrameState state) {
    constexpr uint64_t kStore = 4;
    constexpr uint64_t kEnd = 9;
    if (byte_at(code_, entry_ + 5) != 0x89 || byte_at(code_, entry_ + 6) != 0x6c ||
        byte_at(code_, entry_ + 7) != 0x24 || code_.size() - entry_ <= kEnd ||
        byte_at(code_, entry_ + 8) + uint64_t{16} != bytes_) {
      return false;
    }
    state.points[kRsp] = static_cast<int32_t>(bytes_);
    for (uint64_t i = kStore; i < kEnd; ++i) flow_.set(entry_ + i, state);
    state.saved[kRbp] = 16;
    flow_.follow(entry_ + kEnd, state);
    return true;
  }
  // The prologue makes rbp a frame pointer (native wrappers, -XX:+PreserveFramePointer).
  [[nodiscard]] bool has_pointer() const {
    const uint64_t end = std::min<uint64_t>(code_.size(), entry_ + 32);
    for (uint64_t at = entry_; at < end; ++at) {
      if (sets_up_frame_pointer(code_, at)) return true;
    }
    return false;
  }

  std::span<const std::byte> code_;
  uint32_t bytes_;
  uint64_t entry_;
  FrameFlow flow_;
};

std::vector<UnwindTable> interpreter_table(uint64_t size) {
  constexpr char breg_rbp = 0x70 + kRbp;
  constexpr char deref = 0x06;
  CfaProgram out;
  const auto place = [](int64_t offset) {
    std::string expression(1, breg_rbp);
    put_sleb128(expression, offset);
    return expression;
  };
  out.cfa_expression(place(-8) + deref);
  out.place_expression(kRbp, place(0));
  out.place_expression(kReturnColumn, place(8));
  UnwindTable table;
  table.initial = out.take();
  table.size = size;
  return {std::move(table)};
}

// Routines, one after the other, of which only the beginning of the first is known.
std::vector<UnwindTable> routines(std::span<const std::byte> code, uint64_t entry) {
  FrameFlow flow(code, {.all_kept = true});
  flow.follow(entry, FrameState::at_entry());
  flow.follow(0, FrameState::at_entry());
  for (uint64_t at = 0; at < flow.size(); ++at) {
    if (flow.before(at) == nullptr && sets_up_frame_pointer(code, at)) {
      flow.follow(at, FrameState::at_entry());
    }
  }
  follow_leaf_routines(code, flow);
  return tables_of(flow);
}

}  // namespace

std::vector<UnwindTable> unwind_of_code(std::span<const std::byte> code, const FrameInfo& frame,
                                        uint64_t entry) {
  if (code.empty() || code.size() > kLargestCode || entry >= code.size()) return {};
  switch (frame.shape) {
    case FrameShape::fixed:
      return FixedFrame(code, frame, entry).tables();
    case FrameShape::interpreter:
      return interpreter_table(code.size());
    case FrameShape::unknown:
      break;
  }
  return routines(code, entry);
}

}  // namespace jitscope
