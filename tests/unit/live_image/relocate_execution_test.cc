// Relocation by execution: functions with known and with random entries are run as they are, then
// with a jump over the entry and a slot, and must leave the same registers, flags and memory.
#include <Zydis/Zydis.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "live_image/relocate.h"
#include "tests/unit/image/image_file.h"
#include "tests/unit/live_image/executable_memory.h"
#include "tests/unit/live_image/register_call.h"

namespace jitscope {
namespace {

using test::bytes_of;
using test::ExecutableMemory;
using test::jitscope_test_call;
using test::Registers;

constexpr size_t memory_size = 0x10000;
constexpr size_t function_at = 0x1000;
constexpr size_t data_at = 0x3000;  // what rip-relative operands name
constexpr size_t data_size = 256;
constexpr size_t common_at = 0x7000;
constexpr size_t slot_at = 0x8000;

Registers start_registers(uint64_t function) {
  Registers registers;
  for (size_t i = 0; i < registers.general.size(); ++i) {
    registers.general[i] = 0x0123456789abcdef * (i + 3) ^ (i << 60);
  }
  registers.general[4] = 0;
  registers.function = function;
  return registers;
}

// The state after one call, the data included.
struct Outcome {
  Registers registers;
  std::vector<std::byte> data;
  bool operator==(const Outcome&) const = default;
};

class RelocateExecution : public testing::Test {
 protected:
  void SetUp() override {
    if (!memory.valid()) GTEST_SKIP() << "this system gives no writable and executable memory";
    memory.write(common_at, common_probe_point());
  }

  Outcome run(Registers registers) {
    for (size_t i = 0; i < data_size; ++i) *memory.at(data_at + i) = std::byte(i * 37 + 11);
    jitscope_test_call(&registers);
    return {registers, {memory.at(data_at), memory.at(data_at + data_size)}};
  }

  // Lays the jump over the function's entry; false when it is refused.
  Status patch(size_t body_size, bool shared) {
    const std::span body(memory.at(function_at), body_size);
    JITSCOPE_ASSIGN(const Slot slot,
                    build_slot(body, memory.address(function_at), memory.address(slot_at),
                               shared ? memory.address(common_at) : 0));
    covered = slot.covered;
    memory.write(slot_at, slot.code);
    JITSCOPE_ASSIGN(const std::vector<std::byte> jump,
                    encode_jump(memory.address(function_at), memory.address(slot_at)));
    memory.write(function_at, jump);
    // What is left of the covered instructions must not be needed any more.
    for (size_t i = jump.size(); i < slot.covered; ++i) {
      *memory.at(function_at + i) = std::byte{0xcc};
    }
    return {};
  }

  void expect_same(const std::vector<std::byte>& body, const Registers& registers) {
    for (const bool shared : {false, true}) {
      memory.write(function_at, body);
      const Outcome before = run(registers);
      const Status patched = patch(body.size(), shared);
      ASSERT_TRUE(patched) << to_string(patched.error());
      EXPECT_EQ(run(registers), before);
    }
  }

  ExecutableMemory memory{memory_size};
  uint32_t covered = 0;
};

TEST_F(RelocateExecution, AStackBangStillTouchesTheStack) {
  // mov [rsp-0x1000],eax; lea rax,[rdi+rsi]; mov ecx,[rsp-0x1000]; ret
  const auto body = bytes_of({0x89, 0x84, 0x24, 0x00, 0xf0, 0xff, 0xff, 0x48, 0x8d, 0x04, 0x37,
                              0x8b, 0x8c, 0x24, 0x00, 0xf0, 0xff, 0xff, 0xc3});
  Registers registers = start_registers(memory.address(function_at));
  expect_same(body, registers);
  const Outcome outcome = run(registers);
  EXPECT_EQ(outcome.registers.general[0], registers.general[7] + registers.general[6]);
  EXPECT_EQ(outcome.registers.general[1], registers.general[0] & 0xffffffff);
}

TEST_F(RelocateExecution, AFrameIsBuiltAndLeft) {
  // push rbp; mov rbp,rsp; push rsi; push rdi; mov rax,[rbp-8]; mov rdx,[rbp+8]; leave; ret
  const auto body = bytes_of({0x55, 0x48, 0x89, 0xe5, 0x56, 0x57, 0x48, 0x8b, 0x45, 0xf8, 0x48,
                              0x8b, 0x55, 0x08, 0xc9, 0xc3});
  const Registers registers = start_registers(memory.address(function_at));
  expect_same(body, registers);
  EXPECT_EQ(run(registers).registers.general[0], registers.general[6]);
}

TEST_F(RelocateExecution, ConditionalJumpsGoBothWays) {
  // test dil,1; jz +7; mov eax,1; ret; (+7:) mov eax,2; ret   (covers test and jz)
  const auto body = bytes_of(
      {0x40, 0xf6, 0xc7, 0x01, 0x74, 0x06, 0xb8, 1, 0, 0, 0, 0xc3, 0xb8, 2, 0, 0, 0, 0xc3});
  for (const uint64_t rdi : {2, 3}) {
    Registers registers = start_registers(memory.address(function_at));
    registers.general[7] = rdi;
    expect_same(body, registers);
    EXPECT_EQ(run(registers).registers.general[0], rdi == 3 ? 1u : 2u);
  }
}

TEST_F(RelocateExecution, RipRelativeOperandsNameTheSameBytes) {
  // add dword [rip+data],0x01010101; mov rax,[rip+data]; ret
  auto body = bytes_of({0x81, 0x05, 0, 0, 0, 0, 1, 1, 1, 1, 0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3});
  const auto set = [&](size_t at, size_t next) {
    const auto displacement = static_cast<int32_t>(data_at - (function_at + next));
    std::memcpy(body.data() + at, &displacement, sizeof(displacement));
  };
  set(2, 10);
  set(13, 17);
  const Registers registers = start_registers(memory.address(function_at));
  expect_same(body, registers);
  const Outcome outcome = run(registers);
  EXPECT_EQ(outcome.data[0], std::byte{11 + 1});
  EXPECT_EQ(static_cast<uint8_t>(outcome.registers.general[0]), 12u);
}

// Random functions. Every instruction of the entry writes registers, flags, the stack or the data;
// every way out restores the stack and leaves its mark.
class RandomFunction {
 public:
  RandomFunction(std::mt19937_64& random, uint64_t function, uint64_t data)
      : random_(random), function_(function), data_(data) {}

  // Empty when it could not be assembled, or when a short jump does not reach its way out.
  std::vector<std::byte> make() {
    const size_t entry_instructions = 6 + pick(4);
    for (size_t i = 0; i < entry_instructions; ++i) add_random();
    leave(0x5a);
    for (const Exit& exit : exits_) {
      const auto distance = static_cast<int64_t>(code_.size() - exit.next);
      if (exit.wide) {
        const auto value = static_cast<int32_t>(distance);
        std::memcpy(code_.data() + exit.next - 4, &value, sizeof(value));
      } else {
        if (distance > 127) return {};
        code_[exit.next - 1] = std::byte(distance);
      }
      pushes_ = exit.pushes;
      leave(exit.mark);
    }
    return failed_ ? std::vector<std::byte>{} : code_;
  }

  // Conditional jumps that end within the first `covered` bytes.
  [[nodiscard]] size_t jumps_within(uint32_t covered) const {
    return static_cast<size_t>(
        std::ranges::count_if(exits_, [&](const Exit& exit) { return exit.next <= covered; }));
  }

 private:
  struct Exit {
    size_t next = 0;  // the end of the jump
    bool wide = false;
    uint32_t pushes = 0;
    uint8_t mark = 0;
  };

  uint64_t pick(uint64_t below) { return random_() % below; }

  ZydisRegister any_register(bool wide) {
    uint64_t number = pick(15);
    if (number >= 4) ++number;  // not rsp
    return static_cast<ZydisRegister>((wide ? ZYDIS_REGISTER_RAX : ZYDIS_REGISTER_EAX) + number);
  }

  void encode(ZydisEncoderRequest& request) {
    request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    std::array<std::byte, ZYDIS_MAX_INSTRUCTION_LENGTH> buffer;
    ZyanUSize length = buffer.size();
    // Absolute addresses become rip-relative at their place.
    if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstructionAbsolute(&request, buffer.data(), &length,
                                                            function_ + code_.size()))) {
      failed_ = true;
      return;
    }
    code_.insert(code_.end(), buffer.begin(), buffer.begin() + length);
  }

  static void set_register(ZydisEncoderOperand& operand, ZydisRegister value) {
    operand.type = ZYDIS_OPERAND_TYPE_REGISTER;
    operand.reg.value = value;
  }

  void set_data(ZydisEncoderOperand& operand, uint16_t size) {
    operand.type = ZYDIS_OPERAND_TYPE_MEMORY;
    operand.mem.base = ZYDIS_REGISTER_RIP;
    operand.mem.displacement = static_cast<ZyanI64>(data_ + pick(data_size - 8));
    operand.mem.size = size;
  }

  void add_random() {
    static constexpr std::array arithmetic = {
        ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_ADD, ZYDIS_MNEMONIC_SUB, ZYDIS_MNEMONIC_XOR,
        ZYDIS_MNEMONIC_CMP, ZYDIS_MNEMONIC_ADC, ZYDIS_MNEMONIC_OR,  ZYDIS_MNEMONIC_TEST};
    ZydisEncoderRequest request{};
    request.mnemonic = arithmetic[pick(arithmetic.size())];
    request.operand_count = 2;
    const bool wide = pick(2) == 0;
    const auto size = static_cast<uint16_t>(wide ? 8 : 4);
    switch (pick(9)) {
      case 0:
      case 1:  // register, register
        set_register(request.operands[0], any_register(wide));
        set_register(request.operands[1], any_register(wide));
        return encode(request);
      case 2:  // register, immediate of 8 or 32 bits
        set_register(request.operands[0], any_register(wide));
        request.operands[1].type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
        request.operands[1].imm.s =
            pick(2) == 0 ? static_cast<int8_t>(random_()) : static_cast<int32_t>(random_());
        return encode(request);
      case 3:  // register, data (test has no such form)
        if (request.mnemonic == ZYDIS_MNEMONIC_TEST) request.mnemonic = ZYDIS_MNEMONIC_MOV;
        set_register(request.operands[0], any_register(wide));
        set_data(request.operands[1], size);
        return encode(request);
      case 4:  // data, register
        set_data(request.operands[0], size);
        set_register(request.operands[1], any_register(wide));
        return encode(request);
      case 5:  // data, immediate: bytes behind the displacement
        set_data(request.operands[0], size);
        request.operands[1].type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
        request.operands[1].imm.s = static_cast<int32_t>(random_());
        return encode(request);
      case 6:  // lea of the data (the address itself is the same through the slot)
        request.mnemonic = ZYDIS_MNEMONIC_LEA;
        set_register(request.operands[0], any_register(true));
        set_data(request.operands[1], 8);
        return encode(request);
      case 7: {  // push
        request.mnemonic = ZYDIS_MNEMONIC_PUSH;
        request.operand_count = 1;
        set_register(request.operands[0], any_register(true));
        ++pushes_;
        return encode(request);
      }
      default:
        return add_exit();
    }
  }

  // jcc to a way out of its own, bound later.
  void add_exit() {
    Exit exit;
    exit.wide = pick(2) == 0;
    exit.pushes = pushes_;
    exit.mark = static_cast<uint8_t>(random_());
    const auto condition = static_cast<int>(pick(16));
    const auto jump = exit.wide ? bytes_of({0x0f, 0x80 | condition, 0, 0, 0, 0})
                                : bytes_of({0x70 | condition, 0});
    code_.insert(code_.end(), jump.begin(), jump.end());
    exit.next = code_.size();
    exits_.push_back(exit);
  }

  // lea rsp,[rsp+8*pushes]; movabs r11,mark; ret: no flag changes.
  void leave(uint8_t mark) {
    const auto depth = static_cast<int>(pushes_ * 8);
    const auto out = bytes_of(
        {0x48, 0x8d, 0xa4, 0x24, depth, 0, 0, 0, 0x49, 0xbb, mark, 0, 0, 0, 0, 0, 0, 0, 0xc3});
    code_.insert(code_.end(), out.begin(), out.end());
  }

  std::mt19937_64& random_;
  uint64_t function_;
  uint64_t data_;
  std::vector<std::byte> code_;
  std::vector<Exit> exits_;
  uint32_t pushes_ = 0;
  bool failed_ = false;
};

TEST_F(RelocateExecution, RandomEntriesDoTheSameThroughASlot) {
  std::mt19937_64 random(20240917);
  size_t executed = 0;
  size_t refused = 0;
  size_t jumps_moved = 0;
  size_t not_assembled = 0;
  for (int round = 0; round < 20000; ++round) {
    RandomFunction function(random, memory.address(function_at), memory.address(data_at));
    const auto body = function.make();
    if (body.empty()) {
      ++not_assembled;
      continue;
    }
    Registers registers = start_registers(memory.address(function_at));
    for (size_t i = 0; i < registers.general.size(); ++i) {
      if (i != 4 && random() % 2 == 0) registers.general[i] = random() % 3;
    }
    memory.write(function_at, body);
    const Outcome before = run(registers);
    const Status patched = patch(body.size(), round % 2 == 1);
    if (!patched) {
      // Only the scan for branch-like bytes may object: the functions branch forward alone.
      ASSERT_THAT(patched.error().what, testing::HasSubstr("a branch at +"));
      ++refused;
      continue;
    }
    ++executed;
    jumps_moved += function.jumps_within(covered);
    ASSERT_EQ(run(registers), before) << "round " << round;
  }
  EXPECT_GT(executed, 15000u);
  EXPECT_GT(jumps_moved, 1000u);
  EXPECT_LT(refused, 1000u);
  EXPECT_LT(not_assembled, 100u);
}

}  // namespace
}  // namespace jitscope
