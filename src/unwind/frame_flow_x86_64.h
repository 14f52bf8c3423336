// FrameFlow: what every instruction of a body finds on the stack, followed from its entries along
// branches (x86-64, Zydis).
//
// The canonical frame address (CFA) is the caller's rsp before its call pushed the return address,
// as DWARF has it; a depth is how far below the CFA something lies. Nothing is guessed here: where
// the flow does not lead, or where nothing is left that leads to the CFA, the place is not known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace jitscope {

// DWARF's numbers of the registers (x86-64 psABI, figure 3.36) are the indexes.
enum : uint8_t {
  kRbx = 3,
  kRbp = 6,
  kRsp = 7,
  kR12 = 12,
  kR15 = 15,
  kRegisters = 16,
};

struct FrameState {
  static constexpr int32_t kUnknown = INT32_MIN;
  static constexpr int32_t kKept = 0;   // of `saved`: the register itself still holds it
  static constexpr int32_t kLost = -1;  // overwritten, nobody knows where it is
  // Where registers point to, as depths; kUnknown: elsewhere.
  std::array<int32_t, kRegisters> points = {};
  // Where the caller's value of a register that callees must keep lies, as a depth.
  std::array<int32_t, kRegisters> saved = {};
  // Where rbp was stored while it pointed somewhere (stubs that save all registers), and where to.
  int32_t pointer_at = kUnknown;
  int32_t pointer = kUnknown;

  // At the first instruction of a routine that was just called: rsp is 8 below the CFA.
  static FrameState at_entry();
  // The register by which the CFA is told: rsp as long as it is known. Nothing: not known.
  [[nodiscard]] std::optional<uint8_t> base() const;
  auto operator<=>(const FrameState&) const = default;
};

struct FlowRules {
  bool all_kept = false;  // rbx and r12 to r15 are callees' to keep, not only rbp
  bool aligned = false;   // the CFA is a multiple of 16, as the ABI has it
  // HotSpot's C1: code whose operands were not known yet begins with a jump to a stub, which
  // patches it. Before the stub stand b8 00, two bytes, and how many bytes of the code are held
  // back.
  bool patch_sites = false;
};

class FrameFlow {
 public:
  // The code must live as long as this.
  FrameFlow(std::span<const std::byte> code, const FlowRules& rules);

  // Follows the code from `offset` on, where `state` holds, as far as it has not been followed yet.
  void follow(uint64_t offset, const FrameState& state);

  // What is known of one byte from elsewhere.
  void set(uint64_t offset, const FrameState& state);

  // The state before the instruction to which the byte belongs; null: not followed.
  [[nodiscard]] const FrameState* before(uint64_t offset) const {
    return state_of_[offset] < 0 ? nullptr : states_[static_cast<size_t>(state_of_[offset])];
  }
  [[nodiscard]] size_t size() const { return state_of_.size(); }
  // Returns that were met, and those of them where the stack was not as at the entry.
  [[nodiscard]] uint64_t returns() const { return returns_; }
  [[nodiscard]] uint64_t bad_returns() const { return bad_returns_; }

 private:
  int32_t intern(const FrameState& state);
  // Of an offset that was followed already.
  [[nodiscard]] std::optional<FrameState> joined(uint64_t offset, const FrameState& state) const;
  // Where code goes on behind the jump of a patch site; 0: it is none.
  [[nodiscard]] uint64_t behind_patch_site(uint64_t offset, int64_t target) const;
  // One stretch up to where it ends or joins what is known; what it branches to is put on `work_`.
  void run(uint64_t offset, int32_t state);

  std::span<const std::byte> code_;
  FlowRules rules_;
  std::vector<int32_t> state_of_;  // by byte
  std::map<FrameState, int32_t> numbers_;
  std::vector<const FrameState*> states_;  // keys of numbers_
  std::vector<std::pair<uint64_t, int32_t>> work_;
  // Behind calls, followed last and in order: a call may never return, and then what lies behind it
  // is only known from the branches that lead there. Compilers put such calls behind the rest.
  std::set<std::pair<uint64_t, int32_t>> returned_;
  uint64_t returns_ = 0;
  uint64_t bad_returns_ = 0;
};

}  // namespace jitscope
