// See frame_flow_x86_64.h. An instruction is decoded at most twice, the second time where ways meet
// that left rsp at different depths: work is linear in the code.
#include "unwind/frame_flow_x86_64.h"

#include "unwind/instruction_x86_64.h"

namespace jitscope {
namespace {

constexpr std::array<uint8_t, 9> kCallersRegisters = {0, 1, 2, 4, 5, 8, 9, 10, 11};
// Depths beyond this are no frames but a stack that was changed, or data taken for code.
constexpr int64_t kDeepestFrame = 16 << 20;
// Real bodies have some dozens of states; what has more is data, or made to be expensive.
constexpr size_t kMostStates = 1U << 16U;

int32_t moved(int32_t depth, int64_t down) {
  if (depth == FrameState::kUnknown) return depth;
  const int64_t result = depth + down;
  const bool possible = result >= -kDeepestFrame && result <= kDeepestFrame;
  return possible ? static_cast<int32_t>(result) : FrameState::kUnknown;
}

// Of an operand `[register + displacement]`, the depth that it points to.
int32_t depth_of_place(const Instruction& it, size_t i, const FrameState& state) {
  if (i >= it.info.operand_count || it.operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY) {
    return FrameState::kUnknown;
  }
  const auto& place = it.operands[i].mem;
  if (place.index != ZYDIS_REGISTER_NONE || !is_whole(place.base)) return FrameState::kUnknown;
  const auto base = number_of(place.base);
  if (!base) return FrameState::kUnknown;
  return moved(state.points[*base], place.disp.has_displacement ? -place.disp.value : 0);
}

class Effect {
 public:
  Effect(FrameState& state, const FlowRules& rules) : state_(state), rules_(rules) {}

  void apply(const Instruction& it) {
    switch (it.info.mnemonic) {
      case ZYDIS_MNEMONIC_PUSH:
        push(it.info.operand_width / 8, it.register_of(0));
        break;
      case ZYDIS_MNEMONIC_PUSHFQ:
        push(8, std::nullopt);
        break;
      case ZYDIS_MNEMONIC_POP:
        pop(it);
        break;
      case ZYDIS_MNEMONIC_POPFQ:
        state_.points[kRsp] = moved(state_.points[kRsp], -8);
        break;
      case ZYDIS_MNEMONIC_LEAVE:
        state_.points[kRsp] = state_.points[kRbp];
        restore(kRbp);
        state_.points[kRsp] = moved(state_.points[kRsp], -8);
        break;
      case ZYDIS_MNEMONIC_ENTER:
        enter(it);
        break;
      case ZYDIS_MNEMONIC_CALL:
        for (const uint8_t number : kCallersRegisters) state_.points[number] = kUnknown;
        break;
      case ZYDIS_MNEMONIC_MOV:
        move(it);
        break;
      case ZYDIS_MNEMONIC_LEA:
        set(it, depth_of_place(it, 1, state_));
        break;
      case ZYDIS_MNEMONIC_ADD:
        add(it, -1);
        break;
      case ZYDIS_MNEMONIC_SUB:
        add(it, 1);
        break;
      case ZYDIS_MNEMONIC_AND:
        align(it);
        break;
      default:
        overwritten(it);
    }
    // The return address was taken off the stack: whoever did that may put it anywhere.
    if (it.info.mnemonic != ZYDIS_MNEMONIC_RET && state_.points[kRsp] != kUnknown &&
        state_.points[kRsp] < kLeastDepth) {
      state_.points.fill(kUnknown);
    }
  }

 private:
  static constexpr int32_t kLeastDepth = 8;
  static constexpr int32_t kUnknown = FrameState::kUnknown;

  [[nodiscard]] bool is_kept(uint8_t number) const {
    return number == kRbp ||
           (rules_.all_kept && (number == kRbx || (number >= kR12 && number <= kR15)));
  }
  // Something of nobody's is in the register now.
  void lose(uint8_t number) {
    state_.points[number] = kUnknown;
    if (is_kept(number) && state_.saved[number] == FrameState::kKept) {
      state_.saved[number] = FrameState::kLost;
    }
  }
  void save(uint8_t number, int32_t depth) {
    if (is_kept(number) && depth != kUnknown && depth > 0 &&
        state_.saved[number] == FrameState::kKept) {
      state_.saved[number] = depth;
    }
  }
  // The register is loaded from where rsp points.
  void restore(uint8_t number) {
    const int32_t from = state_.points[kRsp];
    state_.points[number] = kUnknown;
    if (!is_kept(number)) return;
    const bool own = from > 0 && state_.saved[number] == from;
    if (own) {
      state_.saved[number] = FrameState::kKept;
    } else {
      lose(number);
    }
  }

  void push(int64_t bytes, std::optional<uint8_t> number) {
    state_.points[kRsp] = moved(state_.points[kRsp], bytes);
    if (number) save(*number, state_.points[kRsp]);
  }
  void pop(const Instruction& it) {
    const int64_t bytes = it.info.operand_width / 8;
    const auto number = it.register_of(0);
    if (number == kRsp) {
      state_.points[kRsp] = kUnknown;
      return;
    }
    if (number) {
      restore(*number);
    } else if (it.is_register(0)) {  // a part of one
      if (const auto whole = number_of(it.operands[0].reg.value)) lose(*whole);
    }
    state_.points[kRsp] = moved(state_.points[kRsp], -bytes);
  }
  void enter(const Instruction& it) {
    const auto bytes = it.immediate(0);
    const auto level = it.immediate(1);
    push(8, kRbp);
    state_.points[kRbp] = state_.points[kRsp];
    const bool simple = bytes && level == 0;
    state_.points[kRsp] = simple ? moved(state_.points[kRsp], *bytes & 0xffff) : kUnknown;
  }
  void move(const Instruction& it) {
    if (it.is_register(0)) {
      const auto from = it.register_of(1);
      const int32_t place = depth_of_place(it, 1, state_);
      const auto to = it.register_of(0);
      // Restored without a pop.
      if (to && is_kept(*to) && place != kUnknown && place > 0 && state_.saved[*to] == place) {
        state_.points[*to] = kUnknown;
        state_.saved[*to] = FrameState::kKept;
        return;
      }
      if (to == kRbp && place != kUnknown && place == state_.pointer_at) {
        set(it, state_.pointer);
        return;
      }
      set(it, from ? state_.points[*from] : kUnknown);
      return;
    }
    const auto from = it.register_of(1);
    const int32_t place = depth_of_place(it, 0, state_);
    if (from) save(*from, place);
    if (from == kRbp && state_.points[kRbp] != kUnknown && place != kUnknown) {
      state_.pointer_at = place;
      state_.pointer = state_.points[kRbp];
    }
  }
  // The register that is operand 0 points to `depth` now.
  void set(const Instruction& it, int32_t depth) {
    const auto to = it.register_of(0);
    overwritten(it);
    if (to) state_.points[*to] = depth;
  }
  void add(const Instruction& it, int64_t direction) {
    const auto number = it.register_of(0);
    const auto bytes = it.immediate(1);
    const int32_t before = number ? state_.points[*number] : kUnknown;
    overwritten(it);
    if (number && bytes && *bytes >= -kDeepestFrame && *bytes <= kDeepestFrame) {
      state_.points[*number] = moved(before, direction * *bytes);
    }
  }
  // Rounding rsp down is known only where the CFA itself is aligned.
  void align(const Instruction& it) {
    const int32_t before = state_.points[kRsp];
    const bool by_16 = rules_.aligned && it.register_of(0) == kRsp && it.immediate(1) == -16;
    overwritten(it);
    if (by_16 && before != kUnknown && before > 0) state_.points[kRsp] = (before + 15) / 16 * 16;
  }
  void overwritten(const Instruction& it) {
    for (size_t i = 0; i < it.info.operand_count; ++i) {
      const auto& operand = it.operands[i];
      if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER ||
          (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) {
        continue;
      }
      if (const auto number = number_of(operand.reg.value)) lose(*number);
    }
  }

  FrameState& state_;
  FlowRules rules_;
};

}  // namespace

FrameState FrameState::at_entry() {
  FrameState state;
  state.points.fill(kUnknown);
  state.points[kRsp] = 8;
  return state;
}

std::optional<uint8_t> FrameState::base() const {
  // rsp, then what is kept across calls, then any.
  for (const uint8_t number : {kRsp, kRbp, kR12}) {
    if (points[number] != kUnknown) return number;
  }
  for (uint8_t number = kR15; number > kR12; --number) {
    if (points[number] != kUnknown) return number;
  }
  for (uint8_t number = 0; number < kR12; ++number) {
    if (points[number] != kUnknown) return number;
  }
  return std::nullopt;
}

// What holds where two ways meet that left rsp at different depths (a loop that pushes what it
// passes on), when rbp tells the frame on both. Nothing: what is known there may stay.
std::optional<FrameState> FrameFlow::joined(uint64_t offset, const FrameState& state) const {
  const FrameState& known = *states_[static_cast<size_t>(state_of_[offset])];
  const int32_t rsp = known.points[kRsp];
  const int32_t rbp = known.points[kRbp];
  if (rsp == FrameState::kUnknown || rsp == state.points[kRsp]) return std::nullopt;
  if (rbp == FrameState::kUnknown || rbp != state.points[kRbp]) return std::nullopt;
  FrameState both = known;
  for (size_t i = 0; i < kRegisters; ++i) {
    if (both.points[i] != state.points[i]) both.points[i] = FrameState::kUnknown;
  }
  return both;
}

FrameFlow::FrameFlow(std::span<const std::byte> code, const FlowRules& rules)
    : code_(code), rules_(rules), state_of_(code.size(), -1) {
  FrameState nothing = FrameState::at_entry();
  nothing.points[kRsp] = FrameState::kUnknown;
  intern(nothing);  // number 0
}

int32_t FrameFlow::intern(const FrameState& state) {
  if (states_.size() >= kMostStates && !numbers_.contains(state)) return 0;
  const auto next = static_cast<int32_t>(states_.size());
  const auto [place, made] = numbers_.try_emplace(state, next);
  if (made) states_.push_back(&place->first);
  return place->second;
}

void FrameFlow::follow(uint64_t offset, const FrameState& state) {
  work_.emplace_back(offset, intern(state));
  for (;;) {
    std::pair<uint64_t, int32_t> next;
    if (!work_.empty()) {
      next = work_.back();
      work_.pop_back();
    } else if (!returned_.empty()) {
      next = *returned_.begin();
      returned_.erase(returned_.begin());
    } else {
      return;
    }
    run(next.first, next.second);
  }
}

void FrameFlow::set(uint64_t offset, const FrameState& state) {
  state_of_[offset] = intern(state);
}

uint64_t FrameFlow::behind_patch_site(uint64_t offset, int64_t target) const {
  constexpr int64_t record = 5;
  const auto byte = [&](int64_t at) {
    const bool inside = at >= 0 && static_cast<uint64_t>(at) < code_.size();
    return inside ? std::to_integer<unsigned>(code_[static_cast<size_t>(at)]) : 0U;
  };
  const bool stub = byte(static_cast<int64_t>(offset)) == 0xe9 && byte(target) == 0xe8 &&
                    byte(target - record) == 0xb8 && byte(target - record + 1) == 0;
  const uint64_t held_back = byte(target - 1);
  const bool possible = stub && held_back >= 5 && held_back <= 32;
  return possible && held_back < code_.size() - offset ? offset + held_back : 0;
}

void FrameFlow::run(uint64_t offset, int32_t number) {
  const InstructionDecoder decoder;
  FrameState state = *states_[static_cast<size_t>(number)];
  const auto branch = [&](std::optional<int64_t> target, const FrameState& there) {
    if (!target || *target < 0 || static_cast<uint64_t>(*target) >= code_.size()) return;
    const auto to = static_cast<uint64_t>(*target);
    if (state_of_[to] >= 0 && !joined(to, there)) return;
    work_.emplace_back(to, intern(there));
  };
  while (offset < code_.size()) {
    const int32_t old = state_of_[offset];
    if (old >= 0) {
      // Each place is gone through once more at most: rsp is not known there any longer.
      const auto both = joined(offset, state);
      if (!both) return;
      state = *both;
      number = intern(state);
    }
    Instruction it;
    if (!decoder.decode(code_, offset, it)) return;
    const uint64_t end = offset + it.info.length;
    for (uint64_t i = offset; i < end && state_of_[i] == old; ++i) state_of_[i] = number;
    const auto target = target_of(it.info, offset);
    const bool pushes_its_place =
        it.info.mnemonic == ZYDIS_MNEMONIC_CALL && target && *target == static_cast<int64_t>(end);
    if (it.info.mnemonic == ZYDIS_MNEMONIC_RET) {
      ++returns_;
      if (state.points[kRsp] != 8 || state.saved[kRbp] != FrameState::kKept) ++bad_returns_;
    }
    if (pushes_its_place) {
      state.points[kRsp] = moved(state.points[kRsp], 8);
    } else {
      Effect(state, rules_).apply(it);
      if (it.info.mnemonic == ZYDIS_MNEMONIC_CALL) {
        branch(target, FrameState::at_entry());
        if (end < code_.size()) returned_.emplace(end, intern(state));
        return;
      }
      branch(target, state);
    }
    if (rules_.patch_sites && target && it.is(ZYDIS_MNEMONIC_JMP)) {
      if (const uint64_t next = behind_patch_site(offset, *target); next != 0) {
        for (uint64_t i = end; i < next && state_of_[i] < 0; ++i) state_of_[i] = number;
        if (state_of_[next] < 0) work_.emplace_back(next, number);
      }
    }
    if (ends_flow(it.info)) return;
    number = intern(state);
    offset = end;
  }
}

}  // namespace jitscope
