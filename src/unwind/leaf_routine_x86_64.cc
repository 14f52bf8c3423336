// See leaf_routine_x86_64.h. Looks at every instruction once.
#include "unwind/leaf_routine_x86_64.h"

#include <algorithm>
#include <set>
#include <utility>

#include "unwind/instruction_x86_64.h"

namespace jitscope {
namespace {

bool touches_frame(const Instruction& it) {
  for (size_t i = 0; i < it.info.operand_count; ++i) {
    const auto& operand = it.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER ||
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) {
      continue;
    }
    const auto number = number_of(operand.reg.value);
    if (number == kRsp || number == kRbp) return true;
  }
  return false;
}

bool is_padding(const Instruction& it) {
  return it.is(ZYDIS_MNEMONIC_NOP) || it.is(ZYDIS_MNEMONIC_INT3) || it.is(ZYDIS_MNEMONIC_HLT);
}

// Follows a routine at `offset`, which was not followed before; returns where to look for the next.
// `fresh`: nothing runs into `offset` from above; afterwards, nothing runs into what was returned.
uint64_t follow_leaf_routine(std::span<const std::byte> code, uint64_t offset, FrameFlow& flow,
                             bool& fresh) {
  const bool was_fresh = std::exchange(fresh, false);
  const InstructionDecoder decoder;
  const FrameState entry = FrameState::at_entry();
  std::set<uint64_t> targets;
  // Whether what lies at a place finds the stack as a routine's entry does.
  const auto as_at_entry = [&](uint64_t place) {
    const FrameState* there = flow.before(place);
    return there != nullptr && there->points[kRsp] == 8 && there->saved[kRbp] == FrameState::kKept;
  };
  // The end of a routine with a frame may leave by a direct jump, too.
  bool sure = false;
  uint64_t at = offset;
  for (bool more = true; more;) {
    Instruction it;
    if (!decoder.decode(code, at, it)) return at + 1;
    const uint64_t end = at + it.info.length;
    if (at == offset && is_padding(it)) {
      fresh = was_fresh || ends_flow(it.info);
      return end;
    }
    const bool leaves = it.is(ZYDIS_MNEMONIC_RET) || it.is(ZYDIS_MNEMONIC_JMP);
    // Calls are refused too: their operands tell that they write rsp. So do those of a return.
    if (!leaves && (ends_flow(it.info) || touches_frame(it))) {
      fresh = ends_flow(it.info);
      return end;
    }
    const auto target = target_of(it.info, at);
    if (target && *target >= 0 && static_cast<uint64_t>(*target) < code.size()) {
      targets.insert(static_cast<uint64_t>(*target));
    }
    sure = sure || it.is(ZYDIS_MNEMONIC_RET) || (leaves && !target && was_fresh);
    at = end;
    if (at >= code.size()) {
      if (!leaves) return at;
      break;
    }
    const bool known = flow.before(at) != nullptr;
    if (!leaves && known && !as_at_entry(at)) return at;
    // Something before leads to what follows.
    more = !known && (!leaves || targets.contains(at));
  }
  const bool leads_elsewhere = std::ranges::any_of(targets, [&](uint64_t target) {
    return (target < offset || target >= at) && !as_at_entry(target);
  });
  if (sure && !leads_elsewhere) flow.follow(offset, entry);
  fresh = true;
  return at;
}

}  // namespace

void follow_leaf_routines(std::span<const std::byte> code, FrameFlow& flow) {
  bool fresh = true;
  for (uint64_t at = 0; at < flow.size();) {
    if (flow.before(at) == nullptr) {
      at = follow_leaf_routine(code, at, flow, fresh);
    } else {
      fresh = true;  // what was followed went elsewhere at its end
      ++at;
    }
  }
}

}  // namespace jitscope
